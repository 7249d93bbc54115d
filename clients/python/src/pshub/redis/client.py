"""A link of redis-py, and what is written on it."""

from __future__ import annotations

import os
from typing import Optional, Sequence, Union

from redis import exceptions
from redis.asyncio.connection import Connection as Link
from redis.asyncio.connection import ConnectionPool, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from .target import RedisTarget

Word = Union[str, bytes, int]
Command = Sequence[Word]


def pack(command: Command) -> bytes:
    """A command as Redis reads it; redis-py's own packer does more than these need, at four times the cost."""
    parts = [b"*%d\r\n" % len(command)]
    for word in command:
        # Names of others may hold half of a surrogate pair, which has no UTF-8.
        data = word if isinstance(word, bytes) else str(word).encode("utf-8", "replace")
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def make_link(target: RedisTarget) -> Link:
    """
    A redis-py connection that does nothing on its own account: no retries, no timeouts of its own (a command that timed out
    leaves it half read), answers of protocol 2.
    """
    options = {
        "socket_timeout": None,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
        "protocol": 2,
        "decode_responses": False,
    }
    if isinstance(target, str):
        pool = ConnectionPool.from_url(target, **options)
    else:
        given = dict(target)
        if given.pop("ssl", False):
            given["connection_class"] = SSLConnection
        pool = ConnectionPool(**{**given, **options})
    pool.connection_kwargs.update(options)
    return pool.make_connection()


async def open_link(link: Link, name: str, asks_id: bool) -> Optional[int]:
    """Connects. Returns how Redis calls the link, if that is asked."""
    await link.connect()
    client_id = None
    commands = [("CLIENT", "SETNAME", name), ("INFO", "persistence")]
    for command in [*commands, ("CLIENT", "ID")] if asks_id else commands:
        await link.send_command(*command, check_health=False)
        try:
            answer = await link.read_response(disable_decoding=True, disconnect_on_error=False)
        except exceptions.NoPermissionError:
            # All of them can be done without.
            continue
        if command[0] == "INFO" and b"\nloading:1" in answer:
            raise exceptions.BusyLoadingError("Redis is loading the dataset in memory")
        if command == ("CLIENT", "ID"):
            client_id = int(answer)
    return client_id


def abort(link: Link) -> None:
    """Ends the socket at once. close() alone waits until all is written, which a peer that vanished never allows."""
    writer = getattr(link, "_writer", None)
    if writer is not None:
        writer.transport.abort()


def let_go(link: Optional[Link]) -> None:
    """Without a word to the server."""
    writer = getattr(link, "_writer", None)
    sock = writer.get_extra_info("socket") if writer is not None else None
    if sock is not None and sock.fileno() >= 0:
        # Another file under its number: closing the number later, whoever does that, then closes nothing of others.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, sock.fileno())
        os.close(null)
