"""A command of a connection that was given up does not run once its successor is ready; a slow upload is no reason to give one up,
and one that rested is not trusted blindly."""

from __future__ import annotations

import asyncio
import socket

import pytest

from conftest import Server
from pshub.redis.client import connect, make_link
from pshub.redis.connection import Connection
from pshub.redis.refusals import ConnectionLost, NotConnected
from pshub.wire.clock import move_clocks
from waits import adelay


class LateProxy:
    """In front of Redis: delivers the bytes of a connection after its client has gone, or slowly."""

    def __init__(self, port: int) -> None:
        self._port = port
        #: The first chunk with this in it, and all that follow it on its connection, are held.
        self.hold_from: bytes | None = None
        self.bytes_per_s: int | None = None
        self.held: list[bytes] = []
        self._late: asyncio.StreamWriter | None = None
        self._end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _accept(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        answers, redis = await asyncio.open_connection("127.0.0.1", self._port)
        self._tasks.append(asyncio.ensure_future(self._answer(answers, back, redis)))
        while data := await client.read(65536):
            if self.hold_from is not None and self.hold_from in data:
                self.hold_from, self._late = None, redis
            if self._late is redis:
                self.held.append(data)
                continue
            if self.bytes_per_s is not None:
                await adelay(len(data) / self.bytes_per_s, "a slow link")
            redis.write(data)
        if self._late is not redis:
            redis.close()

    async def _answer(self, answers: asyncio.StreamReader, back: asyncio.StreamWriter, redis: asyncio.StreamWriter) -> None:
        while data := await answers.read(65536):
            if self._late is redis and not self._end.done():
                self._end.set_result("answered")
            back.write(data)
        if self._late is redis and not self._end.done():
            self._end.set_result("closed")
        back.close()

    async def deliver(self) -> str:
        """What became of the held bytes: Redis ``answered`` them, or had ``closed`` their connection."""
        assert self._late is not None
        for data in self.held:
            self._late.write(data)
        return await self._end

    def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()


def test_tcp_asks_for_a_sign_of_life_after_30_s(server: Server) -> None:
    async def run() -> int:
        link = make_link({"port": server.port})
        await connect(link)
        own = link._writer.get_extra_info("socket")  # type: ignore[union-attr]
        idle: int = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        await link.disconnect()
        return idle

    assert asyncio.run(run()) == 30


async def _connected(url: str) -> Connection:
    connection = Connection(url, "test", 0.3)
    connection.open()
    await connection.when_ready()
    return connection


def test_a_late_command_does_not_run(server: Server) -> None:
    async def run() -> str:
        proxy = LateProxy(server.port)
        connection = await _connected(await proxy.open())
        proxy.hold_from = b"SET"
        with pytest.raises(ConnectionLost):
            await connection.one("SET", "late", "late")
        await connection.when_ready()
        await connection.one("SET", "late", "again")
        end = await proxy.deliver()
        await connection.close()
        proxy.close()
        return end

    assert asyncio.run(run()) == "closed"
    assert server.client.get("late") == "again"
    server.client.delete("late")


def test_an_upload_that_takes_longer_than_silence_may_last_arrives(server: Server) -> None:
    async def run() -> None:
        proxy = LateProxy(server.port)
        connection = await _connected(await proxy.open())
        proxy.bytes_per_s = 300_000
        assert await connection.one("SET", "large", "x" * 300_000) == b"OK"
        await connection.close()
        proxy.close()

    asyncio.run(run())
    server.client.delete("large")


def test_what_is_sent_over_a_link_that_was_forgotten_while_it_rested_is_not_in_doubt(server: Server) -> None:
    async def run() -> list[bytes]:
        proxy = LateProxy(server.port)
        connection = await _connected(await proxy.open())
        # As a firewall does: neither end is told.
        proxy.hold_from = b""
        move_clocks(60)
        with pytest.raises(NotConnected):
            await connection.one("SET", "rested", "1")
        await connection.when_ready()
        assert await connection.one("SET", "rested", "1", "NX") == b"OK"
        await connection.close()
        proxy.close()
        return proxy.held

    try:
        assert b"".join(asyncio.run(run())) == b"*1\r\n$4\r\nTIME\r\n"
    finally:
        move_clocks(-60)
        server.client.delete("rested")
