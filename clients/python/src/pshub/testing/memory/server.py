"""A Redis in this process, for tests: its commands and pshub's functions run in Lua; what is here moves bytes and tells the time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ...hub.loop import LoopThread
from ...redis.lua_sources import lua_text
from ...wire.clock import wall_ms
from ...wire.errors import ConfigError
from .replies import read_reply


def closed() -> ConfigError:
    """For whoever goes on with a kit that has ended."""
    return ConfigError("This kit was closed; make a new one.")


def _open_machine() -> Callable[..., Any]:
    try:
        # Redis has Lua 5.1, too.
        from lupa import lua51
    except ImportError:
        raise ConfigError("pshub.testing runs the functions of Redis in lupa: pip install 'pshub-client[testing]'.") from None
    runtime = lua51.LuaRuntime(encoding=None)
    machine: Callable[..., Any] = runtime.execute(lua_text("testing/memory/redis.lua"))
    return machine


class MemoryRedis:
    """Connected to over lines, each of which stands for the way of one process. Keeps its keys while it is away."""

    def __init__(self) -> None:
        self._machine = _open_machine()
        self._lock = threading.Lock()
        self._thread = LoopThread("pshub-memory")
        self._lines: list[Line] = []
        self._links: dict[bytes, _Link] = {}
        self._tick: asyncio.TimerHandle | None = None
        self.is_away = False
        self._is_closed = False
        #: How many commands it has run: whether something is going on.
        self.commands = 0

    def line(self) -> Line:
        """A new way to it. Raises ConfigError when it was closed."""
        self._look_alive()
        line = Line(self)
        self._thread.run(line.open())
        self._lines.append(line)
        return line

    def go_away(self) -> None:
        """All connections break, and no new one lives, until it comes back with all its keys."""
        self._look_alive()
        self.is_away = True
        for line in self._lines:
            line.drop()

    def come_back(self) -> None:
        self.is_away = False

    def command(self, *words: str | int | float | bytes) -> Any:
        """Runs one command, as redis-cli would. Texts are bytes. Raises RedisError as Redis answers, ConfigError for what is none."""
        self._look_alive()
        if not words or None in words:
            raise ConfigError(f"redis.command() takes the words of a command, not {words!r}.")
        packed = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        [answer] = self.ask(b"command", *packed)
        self._thread.post(self._tick_now)
        return read_reply(answer)

    def ask(self, verb: bytes, *words: bytes) -> list[bytes]:
        """What the machine says, on any thread."""
        with self._lock:
            said = self._machine(verb, b"%d" % (wall_ms() * 1000), *words)
        return [] if said is None else list(said) if isinstance(said, tuple) else [said]

    def close(self) -> None:
        self._is_closed = True
        for line in self._lines:
            line.cut()
        self._thread.stop()

    def _look_alive(self) -> None:
        if self._is_closed:
            raise closed()

    # On its own thread.

    def admit(self, link: _Link) -> bytes:
        [id] = self.ask(b"open")
        self._links[id] = link
        return id

    def take(self, id: bytes, data: bytes) -> None:
        self._send(self.ask(b"feed", id, data))

    def leave(self, id: bytes) -> None:
        if self._links.pop(id, None) is not None:
            self.ask(b"close", id)

    def on_thread(self, act: Callable[[], None]) -> None:
        self._thread.run(_called(act))

    def _tick_now(self) -> None:
        self._send(self.ask(b"tick"))

    def _send(self, outgoing: list[bytes]) -> None:
        for id, data in zip(outgoing[::2], outgoing[1::2]):
            link = self._links.get(id)
            if link is not None:
                link.write(data)
        commands, soonest_us, _ = self.ask(b"look")
        self.commands = int(commands)
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        if soonest_us != b"inf":
            wait_s = float(soonest_us) / 1e6 - wall_ms() / 1e3
            self._tick = asyncio.get_running_loop().call_later(max(0.0, wait_s) + 0.0001, self._tick_now)


async def _called(act: Callable[[], None]) -> None:
    act()


class Line:
    """The way of one hub or worker to the Redis in memory: a port of this host, which none but this process is told."""

    def __init__(self, redis: MemoryRedis) -> None:
        self.redis = redis
        self.links: set[_Link] = set()
        self.is_cut = False
        self.url = ""
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Link(self), "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def connections(self) -> int:
        return len(self.links)

    def drop(self) -> None:
        """Its connections break."""
        self.redis.on_thread(self._drop)

    def cut(self) -> None:
        """As the kernel does it when a process was killed: nothing of what was under way comes, and nothing more is sent."""
        self.is_cut = True
        self.redis.on_thread(self._cut)

    def _drop(self) -> None:
        for link in [*self.links]:
            link.abort()

    def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._drop()


class _Link(asyncio.Protocol):
    """One connection."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._redis = line.redis
        self._id = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._redis.is_away or self._line.is_cut:
            transport.abort()
            return
        self._id = self._redis.admit(self)
        self._line.links.add(self)

    def data_received(self, data: bytes) -> None:
        if self._id:
            self._redis.take(self._id, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._line.links.discard(self)
        self._redis.leave(self._id)

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def abort(self) -> None:
        # From this moment on nothing of it counts.
        self._redis.leave(self._id)
        self._id = b""
        self._line.links.discard(self)
        if self._transport is not None:
            self._transport.abort()
