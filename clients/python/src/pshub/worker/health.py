"""Answers probes over HTTP: ``/livez``, whether the event loop turns, and ``/readyz``, whether a lease is held in each place."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections import deque
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from ..outlets.log import log_probes
from ..settings.table import Settings
from ..wire.clock import now_s, spawn
from ..wire.errors import ConfigError

#: A probe that gave up while the loop was blocked comes again within this time, and is told.
_REMEMBERED_S = 10.0
_TICK_S = 0.1
#: What a probe may take to say what it wants, and how much that may be.
_PATIENCE_S = 5.0
_MOST_BYTES = 8192
_UNREADABLE = (400, {"error": "That is not an HTTP request."})

Answer = tuple[int, dict[str, Any]]


class Health:
    """It lives in the loop that it tells of: while that is blocked nobody answers, and the patience of the probe decides."""

    def __init__(
        self,
        settings: Settings,
        state: Callable[[], str],
        uncertain: Callable[[], Sequence[str]],
        is_connected: Callable[[], bool],
    ) -> None:
        """
        ``state`` is starting, serving or stopping; ``uncertain`` names the places in which the lease is not certain.
        """
        self._settings = settings
        self._state = state
        self._uncertain = uncertain
        self._is_connected = is_connected
        self._server: asyncio.AbstractServer | None = None
        self._under_way: set[asyncio.Task[Any]] = set()
        self._ticked_at = now_s()
        #: When it went on, and how late that was.
        self._stalls: deque[tuple[float, float]] = deque(maxlen=64)

    async def open(self) -> None:
        """Does nothing without a port. Raises ConfigError when the port cannot be had."""
        port = self._settings.health_port
        if port is None:
            return
        try:
            listener = _listen(port)
        except OSError as error:
            raise ConfigError(_why_not(port, error)) from None
        self._server = await asyncio.start_server(self._serve, sock=listener, limit=_MOST_BYTES)
        self._ticked_at = now_s()
        spawn(self._tick(), self._under_way)
        log_probes(listener.getsockname()[1])

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        under_way = set(self._under_way)
        for task in under_way:
            task.cancel()
        await asyncio.wait(under_way)

    # Whether the loop turns.

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            now = now_s()
            self._stalls.append((now, now - self._ticked_at - _TICK_S))
            self._ticked_at = now
            while self._stalls[0][0] < now - _REMEMBERED_S:
                self._stalls.popleft()

    def _blocked_s(self) -> float:
        now = now_s()
        late = [late_s for ended_at, late_s in self._stalls if ended_at >= now - _REMEMBERED_S]
        return max(0.0, now - self._ticked_at - _TICK_S, *late)

    # What a probe is told.

    def _live(self) -> Answer:
        blocked_s = self._blocked_s()
        # For longer than that its lease was over, and others have taken over what it held.
        if blocked_s <= self._settings.lease:
            return 200, {"live": True}
        return 503, {"live": False, "reason": "the event loop was blocked", "blockedMs": round(blocked_s * 1000)}

    def _ready(self) -> Answer:
        reason = self._why_not_ready()
        return (200, {"ready": True}) if reason is None else (503, {"ready": False, "reason": reason})

    def _why_not_ready(self) -> str | None:
        state = self._state()
        if state != "serving":
            return state
        without = self._uncertain()
        if not without:
            return None
        return f"no lease in {', '.join(without)}" if self._is_connected() else "Redis is unreachable"

    def _answer(self, path: str) -> Answer:
        answers = {"/livez": self._live, "/readyz": self._ready}
        answer = answers.get(path.split("?", 1)[0])
        return answer() if answer else (404, {"error": "Only /livez and /readyz exist here."})

    # HTTP.

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spawn(self._converse(reader, writer), self._under_way)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.wait_for(self._answer_one(reader, writer), _PATIENCE_S)
        except (OSError, EOFError, asyncio.TimeoutError):
            # It went away, or says nothing.
            pass
        finally:
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            head = b""
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        is_request = len(words) == 3 and words[2].startswith("HTTP/1.")
        status, said = self._answer(words[1]) if is_request else _UNREADABLE
        body = (json.dumps(said, separators=(",", ":"), ensure_ascii=False) + "\n").encode()
        # Each probe is a connection: one that stays open would hold up the end.
        writer.write(
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
        )
        if words[0] != "HEAD":
            writer.write(body)
        await writer.drain()


def _listen(port: int) -> socket.socket:
    """On all addresses of the host; those of IPv4 alone where it has no others."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
    return socket.create_server(("", port))


def _why_not(port: int, error: OSError) -> str:
    because = (
        "another program listens there; give each worker on a machine its own port"
        if error.errno == errno.EADDRINUSE
        else str(error.strerror or error)
    )
    return f"The worker cannot answer probes on port {port} (health_port, --health-port or PSHUB_HEALTH_PORT): {because}."
