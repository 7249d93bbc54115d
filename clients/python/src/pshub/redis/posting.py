"""The way of commands to the nodes of a Cluster, and after those that moved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..wire.clock import settle, spawn
from .client import Command
from .node import NodeConnection
from .nodes import Nodes, Where
from .redirect import Rerouted, is_down, key_of, with_absent
from .refusals import ConnectionLost, NotConnected
from .slot_map import slot_of

_MOST_REDIRECTS = 5


class Posting:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._under_way: set[asyncio.Task[Any]] = set()

    def post(self, where: Where, commands: tuple[Command, ...], waits: bool) -> asyncio.Future[list[Any]]:
        """As ``Connection.post``, each command to the node of its key."""
        groups: dict[Where, list[int]] = {}
        for place, command in enumerate(commands):
            key = key_of(command)
            slot = where if key is None or isinstance(where, tuple) else slot_of(key)
            groups.setdefault(slot, []).append(place)
        if len(groups) == 1:
            [slot] = groups
            return self._post(slot, waits, commands)
        posted = [self._post(slot, waits, tuple(commands[place] for place in places)) for slot, places in groups.items()]
        return asyncio.ensure_future(_gathered(posted, list(groups.values()), len(commands)))

    def _post(self, where: Where, waits: bool, commands: tuple[Command, ...]) -> asyncio.Future[list[Any]]:
        node = self._nodes.open_node_at(where)
        result: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        # Not everybody who sends waits for the answer.
        result.add_done_callback(lambda done: done.cancelled() or done.exception())
        if node is not None and node.is_ready:
            self._send(node, commands, result)
        elif not waits:
            result.set_exception(NotConnected(self._nodes.why_not(where)))
        else:
            spawn(self._send_when_ready(where, commands, result), self._under_way)
        return result

    def _send(self, node: NodeConnection, commands: tuple[Command, ...], result: asyncio.Future[list[Any]]) -> None:
        def done(posted: asyncio.Future[list[Any]]) -> None:
            if posted.cancelled() or posted.exception() is not None:
                _fail(result, ConnectionLost("it was cancelled") if posted.cancelled() else posted.exception())
                return
            found = Rerouted(commands, posted.result())
            if any(map(is_down, found.answers)):
                self._nodes.look_anew()
            if found.next_of(node.address)[0] is None:
                settle(result, found.answers)
            else:
                spawn(self._follow(node, found, result), self._under_way)

        self._write(node, commands).add_done_callback(done)

    def _write(self, node: NodeConnection, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        return node.post(*(map(with_absent, commands) if self._nodes.is_cluster else commands))

    async def _send_when_ready(self, where: Where, commands: tuple[Command, ...], result: asyncio.Future[list[Any]]) -> None:
        node = await self._nodes.ready_node(where)
        if node is None:
            _fail(result, NotConnected(self._nodes.why_not(where)))
        else:
            self._send(node, commands, result)

    async def _follow(self, node: NodeConnection, found: Rerouted, result: asyncio.Future[list[Any]]) -> None:
        """Sends what was not run, because its slot is elsewhere, there; a few times at the most, then the answers are as they are."""
        try:
            for _ in range(_MOST_REDIRECTS):
                redirect, places = found.next_of(node.address)
                if redirect is None:
                    break
                self._nodes.learn(redirect)
                target = await self._nodes.ready_node(redirect.address)
                if target is None:
                    raise NotConnected(self._nodes.why_not(redirect.address))
                node = target
                answers = await self._write(node, found.sent(redirect, places))
                found.put(redirect, places, answers)
            settle(result, found.answers)
        except NotConnected as error:
            # What of it was run before cannot be taken back.
            _fail(result, error if found.is_unrun else ConnectionLost(str(error)))
        except Exception as error:
            _fail(result, error)


def _fail(result: asyncio.Future[list[Any]], error: Any) -> None:
    if not result.done():
        result.set_exception(error)


async def _gathered(posted: list[asyncio.Future[list[Any]]], places: list[list[int]], count: int) -> list[Any]:
    """The answers of several nodes in the order of their commands; the first failure among them is raised when all have ended."""
    outcomes = await asyncio.gather(*posted, return_exceptions=True)
    answers: list[Any] = [None] * count
    for own, outcome in zip(places, outcomes):
        if isinstance(outcome, BaseException):
            raise outcome
        for place, answer in zip(own, outcome):
            answers[place] = answer
    return answers
