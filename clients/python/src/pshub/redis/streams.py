"""
What a link of redis-py reads from and writes to. redis-py shows neither: its own parsers find both in these two attributes, which have been
named so since 4.2, and nothing public leads to the socket. Two things need them. A peer that vanished must be left at once, where
``disconnect()`` waits until all is written; and an answer of many megabytes must not pass for silence, where ``read_response()`` tells of whole
ones. Streams and a parser of our own would do without, and would have to keep up with redis-py's options, its TLS and hiredis instead.
tests/test_streams.py fails when they go.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from redis.asyncio.connection import Connection as Link


def check_streams(link: Link) -> None:
    """Raises RuntimeError where this redis-py keeps them elsewhere: such a link could be neither left nor watched."""
    if not (hasattr(link, "_reader") and hasattr(link, "_writer")):
        raise RuntimeError("this version of redis-py is not supported, because its streams were not found; install an older version")


def _writer_of(link: Link) -> asyncio.StreamWriter | None:
    """None while it is not connected."""
    writer: asyncio.StreamWriter | None = getattr(link, "_writer", None)
    return writer


def abort(link: Link) -> None:
    """Ends the socket at once. close() alone waits until all is written, which a peer that vanished never allows."""
    writer = _writer_of(link)
    if writer is not None:
        writer.transport.abort()


def queued(link: Link) -> int:
    """Bytes that wait in this process because the system accepts no more."""
    writer = _writer_of(link)
    return writer.transport.get_write_buffer_size() if writer is not None else 0


def bury(link: Link | None) -> None:
    """Ends a link that nobody reads or writes any more. redis-py warns of one that has a writer still as of one that was left open."""
    if link is not None:
        abort(link)
        link._writer = link._reader = None


def let_go(link: Link | None) -> None:
    """Without a word to the server."""
    writer = _writer_of(link) if link is not None else None
    sock = writer.get_extra_info("socket") if writer is not None else None
    if sock is not None and sock.fileno() >= 0:
        # Another file under its number: closing the number later, whoever does that, then closes nothing of others.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, sock.fileno())
        os.close(null)


def on_data(link: Link, hear: Callable[[], None]) -> None:
    """Has ``hear`` called with each piece that comes in, a whole answer or not."""
    reader: Any = getattr(link, "_reader", None)
    if reader is None:
        return
    feed = reader.feed_data

    def fed(data: bytes) -> None:
        hear()
        feed(data)

    reader.feed_data = fed
