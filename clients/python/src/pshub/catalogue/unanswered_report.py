"""Tells the registry which calls ended in a hub without a word of a worker: no worker can know."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

from ..figures.unanswered import Unanswered
from ..redis.client import Command
from ..redis.connection import Connection
from ..redis.refusals import ConnectionLost, NotConnected, ReplyError, is_about_rights, none_refused
from ..wire.clock import Stop, now_s, sleep, start, within
from ..wire.errors import HubError
from ..wire.keys import Keys
from ..wire.raised import message_of

_FIRST_S = 0.1
_EVERY_S = 1.0
#: A record is kept for so long after it was written last, and so many hubs are listed.
_MEMORY_MS = 3_600_000
_MAX_HUBS = 1000
_FAREWELL_S = 1.0


class UnansweredReport:
    """Sends nothing while there are none, and at most once a second while there are; all of it on the hub's event loop."""

    def __init__(self, hub_id: str, name: str | None, keys: Keys, commands: Connection, closing: Stop) -> None:
        self._hub_id = hub_id
        self._name = name or ""
        self._key = keys.refused(hub_id)
        self._list = keys.refusing
        self._commands = commands
        self._closing = closing
        self._unanswered = Unanswered()
        self._telling: asyncio.Task[None] | None = None
        #: A user whose rights are of an earlier version: this hub goes on as earlier ones did.
        self._is_denied = False

    def note(self, task: Any, queue: str | None, error: HubError) -> None:
        if self._is_denied or not isinstance(task, str):
            return
        self._unanswered.count(task, queue, error, now_s() * 1000)
        if self._telling is None and self._unanswered.has_recent:
            self._telling = start(self._tell())

    async def close(self) -> None:
        """Tells what is not told yet, where Redis is there; ``closing`` is set."""
        if self._telling is not None:
            await within(self._telling, _FAREWELL_S)

    async def _tell(self) -> None:
        """For a minute after the last one, until that has left the window."""
        await sleep(_FIRST_S, self._closing)
        while self._unanswered.has_recent and not self._is_denied:
            is_last = self._closing.is_set
            if self._commands.is_ready and self._unanswered.is_changed(now_s() * 1000):
                await self._write()
            if is_last:
                break
            await sleep(_EVERY_S, self._closing)
        self._telling = None

    async def _write(self) -> None:
        try:
            now_ms = await self._commands.at(self._key).now_ms()
            text = self._unanswered.text(now_s() * 1000, now_ms, self._name, socket.gethostname(), os.getpid())
            none_refused(await self._commands.post(*self._commands_of(text, now_ms)))
        except (ConnectionLost, NotConnected, ReplyError) as error:
            self._is_denied = is_about_rights(message_of(error))
            self._unanswered.again()

    def _commands_of(self, text: str, now_ms: int) -> list[Command]:
        return [
            ("SET", self._key, text, "PX", _MEMORY_MS),
            ("ZADD", self._list, now_ms, self._hub_id),
            ("ZREMRANGEBYSCORE", self._list, "-inf", now_ms - _MEMORY_MS),
            ("ZREMRANGEBYRANK", self._list, 0, -_MAX_HUBS - 1),
            ("PEXPIRE", self._list, _MEMORY_MS),
        ]
