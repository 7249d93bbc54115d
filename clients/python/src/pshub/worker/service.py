"""One worker on its event loop, from its start to its end: a crew for its queue, one for each further shard of that, and what they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..figures.events import Events
from ..redis.boot_check import find_unfit, unfit_text
from ..redis.connection import Connection
from ..redis.connections import make_connections, make_waiting_connection
from ..redis.refusals import explained
from ..settings.table import Settings
from ..task.task import Task
from ..wire.clock import Stop, spawn
from ..wire.errors import ConfigError
from ..wire.keys import Keys
from ..wire.raised import message_of
from .async_runs import AsyncRuns
from .crew import Common, Crew
from .health import Health
from .nested import NestedCalls
from .roles.fetch import FetchLoop
from .roles.inspect import Inspect
from .sharding import Sharding
from .slot_pool import SlotPool

#: How long start() waits for Redis.
_PATIENCE_S = 2.0


class Service:
    def __init__(
        self,
        settings: Settings,
        tasks: Mapping[str, Task[..., Any]],
        events: Events,
        post: Callable[..., None],
        nested: NestedCalls,
        async_runs: AsyncRuns,
    ) -> None:
        self.pool = SlotPool(settings.slots, (settings.slots + 1) // 2 if settings.job_slots is None else settings.job_slots)
        self._events = events
        self._nested = nested
        self._state = "new"
        self._all_commands, self._all_waiting = make_connections("worker", settings.redis, events)
        #: Waits of further places on a Cluster.
        self._apart: dict[str, Connection] = {}
        self._fetch = FetchLoop(self.pool)
        keys = self._keys = Keys(settings.namespace)
        self._common = Common(
            settings, tasks, events, keys, self.pool, self._fetch, Sharding(settings.queue, keys, self._serve_also), post,
            nested.begin, async_runs, self._serves,
        )  # fmt: skip
        self._crews: list[Crew] = []
        self._named = self._make_crew(settings.queue)
        self._commands = self._at(self._all_commands, settings.queue)
        self._inspect = Inspect(self._commands, events, lambda: find_unfit(self._commands, keys, [crew.name for crew in self._crews]))
        self._health = Health(settings, self._health_state, self._uncertain, lambda: self._commands.is_ready)
        self._is_serving = False
        self._grace_over = Stop()
        self._stopped: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[Any]] = set()
        self._parting: set[asyncio.Task[Any]] = set()

    @property
    def id(self) -> str:
        """Of the place that it was told to serve; it has one for each. Changes when the lease was lost."""
        return self._named.id

    @property
    def ids(self) -> list[str]:
        """Of all its places."""
        return [crew.id for crew in self._crews]

    async def start(self) -> None:
        """
        Returns when the worker is registered, or after two seconds while Redis is away: it goes on trying then. Raises ConfigError
        when this Redis cannot keep the promises.
        """
        self._state = "running"
        # Before all that takes its time, which is seen to be starting.
        try:
            await self._health.open()
        except ConfigError:
            self._state = "stopped"
            raise
        self._all_waiting.open()
        self._all_commands.open()
        await self._commands.ready_within(_PATIENCE_S)
        unfit = await self._inspect.look()
        if self._state != "running":
            return
        if unfit:
            await self._all_waiting.close()
            await self._all_commands.close()
            await self._health.close()
            self._state = "stopped"
            raise ConfigError(unfit_text(unfit))
        if unfit is not None:
            await self._serve()
        else:
            spawn(self._serve_when_fit(), self._under_way)

    async def stop(self, grace_s: float) -> None:
        """Takes no more work, lets what runs finish for ``grace_s``, puts the rest back. A second call may shorten the first."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(grace_s, self._grace_over.set)
        if grace_s <= 0:
            self._grace_over.set()
        if self._stopped is None:
            self._stopped = loop.create_task(self._shut_down())
        await asyncio.wait({self._stopped})
        timer.cancel()

    # The places.

    def _at(self, connection: Connection, name: str) -> Connection:
        """Where the queue is: ready when that server is."""
        return connection.at(self._keys.queue(name).calls)

    def _serves(self, name: str) -> bool:
        return any(crew.name == name for crew in self._crews)

    def _make_crew(self, name: str) -> Crew:
        waiting = self._all_waiting
        if self._crews and self._all_commands.is_cluster:
            waiting = self._apart[name] = make_waiting_connection(self._all_waiting)
            waiting.open()
        commands = self._at(self._all_commands, name)
        crew = Crew(self._common, name, commands, self._at(waiting, name), self._part_with)
        self._crews.append(crew)
        return crew

    def _serve_also(self, names: Sequence[str]) -> None:
        """These shards, too, unless they are served already."""
        for name in names:
            if self._state == "running" and not self._serves(name):
                spawn(self._make_crew(name).start(), self._under_way)

    def _part_with(self, crew: Crew) -> None:
        """What was a shard is none any more."""
        if self._state == "running" and crew is not self._named and crew in self._crews:
            self._crews.remove(crew)
            spawn(self._part(crew), self._parting)

    async def _part(self, crew: Crew) -> None:
        try:
            await crew.announce()
            await crew.retreat()
            told = await crew.leave(self._grace_over)
            if crew.name in self._apart:
                await self._apart.pop(crew.name).close()
            self._events.emit("worker:stopped", **told)
        except Exception as error:
            self._problem(error)

    # What probes ask.

    def _health_state(self) -> str:
        return "stopping" if self._state != "running" else "serving" if self._is_serving else "starting"

    def _uncertain(self) -> list[str]:
        return [crew.name for crew in self._crews if not crew.is_certain]

    # Life.

    async def _serve_when_fit(self) -> None:
        await self._inspect.until_fit()
        await self._serve()

    async def _serve(self) -> None:
        if self._state == "running":
            await self._named.start()
            self._is_serving = True
        if self._state == "running":
            spawn(self._inspect.watch(), self._under_way)

    async def _shut_down(self) -> None:
        try:
            await self._leave()
        except Exception as error:
            self._problem(error)
        self._state = "stopped"

    async def _leave(self) -> None:
        self._state = "stopping"
        self._inspect.stop()
        # A place whose node is away keeps none of the others.
        announced = asyncio.gather(*(crew.announce() for crew in self._crews), return_exceptions=True)
        self._fetch.stop()
        for waiting in [self._all_waiting, *self._apart.values()]:
            await waiting.close()
        await self._fetch.settled()
        await announced
        ends = await asyncio.gather(*(crew.leave(self._grace_over) for crew in self._crews), return_exceptions=True)
        if self._parting:
            await asyncio.wait(set(self._parting))
        await self._nested.close()
        await self._all_commands.close()
        await self._health.close()
        for end in ends:
            if isinstance(end, Exception):
                self._problem(end)
            elif isinstance(end, dict):
                self._events.emit("worker:stopped", **end)

    def _problem(self, error: Exception) -> None:
        self._events.emit("problem", where="stop", reason=explained(message_of(error)))
