"""What is used of redis-py that it does not document: this fails when it goes."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import pytest

from conftest import Server
from pshub.redis.client import connect, make_link, pack
from pshub.redis.streams import abort, check_streams, let_go, on_data
from waits import aeventually


def test_a_link_shows_its_streams(server: Server) -> None:
    async def run() -> None:
        link = make_link({"host": "127.0.0.1", "port": server.port})
        assert link._reader is None and link._writer is None
        await connect(link)
        assert type(link._reader) is asyncio.StreamReader and type(link._writer) is asyncio.StreamWriter
        abort(link)

    asyncio.run(run())


def test_each_piece_of_an_answer_is_heard(server: Server) -> None:
    server.client.set("large", b"x" * 5_000_000)

    async def run() -> int:
        link = make_link({"host": "127.0.0.1", "port": server.port})
        await connect(link)
        heard = 0

        def hear() -> None:
            nonlocal heard
            heard += 1

        on_data(link, hear)
        await link.send_packed_command([pack(("GET", "large"))], check_health=False)
        answer = await link.read_response(disable_decoding=True, disconnect_on_error=False)
        assert len(answer) == 5_000_000
        abort(link)
        return heard

    assert asyncio.run(run()) > 5
    server.client.delete("large")


def test_a_link_is_left_at_once_though_nobody_reads_what_was_written() -> None:
    async def run() -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        link: Any = make_link({"host": "127.0.0.1", "port": listener.getsockname()[1]})
        connecting = asyncio.ensure_future(connect(link))
        peer, _ = await asyncio.get_running_loop().run_in_executor(None, listener.accept)
        await aeventually(lambda: link._writer is not None)
        writer = link._writer
        writer.write(b"x" * 50_000_000)
        sock = writer.get_extra_info("socket")
        abort(link)
        connecting.cancel()
        await asyncio.wait({connecting})
        # The loop closes it in its next turn, with all that was not written yet.
        await asyncio.sleep(0)
        assert sock.fileno() == -1
        peer.close()
        listener.close()

    asyncio.run(run())


def test_a_link_is_let_go_without_a_word(server: Server) -> None:
    async def run() -> None:
        link: Any = make_link({"host": "127.0.0.1", "port": server.port})
        await connect(link)
        known = link._writer.get_extra_info("sockname")[1]
        there = [each for each in server.client.client_list() if each["addr"].endswith(f":{known}")]
        assert len(there) == 1
        kept = socket.socket(fileno=os.dup(link._writer.get_extra_info("socket").fileno()))
        let_go(link)
        abort(link)
        await asyncio.sleep(0)
        assert [each["id"] for each in server.client.client_list() if each["addr"].endswith(f":{known}")] == [there[0]["id"]]
        kept.close()

    asyncio.run(run())


def test_a_redis_py_without_them_is_told() -> None:
    class Other:
        pass

    with pytest.raises(RuntimeError, match="install an older version"):
        check_streams(Other())  # type: ignore[arg-type]
