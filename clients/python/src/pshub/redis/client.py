"""A link of redis-py, and what is written on it."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from redis import exceptions
from redis.asyncio.connection import Connection as Link
from redis.asyncio.connection import ConnectionPool, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from .fence import Fence
from .streams import check_streams

#: After 30 s of rest TCP itself asks for a sign of life: firewalls of clouds forget a flow after 60 s at the earliest that they can be set to, and
#: after four minutes where nobody sets them.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}

Word = str | bytes | int
Command = Sequence[Word]


def pack(command: Command) -> bytes:
    """A command as Redis reads it; redis-py's own packer does more than these need, at four times the cost."""
    parts = [b"*%d\r\n" % len(command)]
    for word in command:
        # Names of others may hold half of a surrogate pair, which has no UTF-8.
        data = word if isinstance(word, bytes) else str(word).encode("utf-8", "replace")
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def make_link(given: Mapping[str, Any]) -> Link:
    """
    A redis-py connection that does nothing on its own account: no retries, no timeouts of its own (a command that timed out
    leaves it half read), answers of protocol 2. ``given`` are redis-py's options, with a password that is a text.
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
    # Not every system can be told when.
    keepalive = {getattr(socket, name): value for name, value in _KEEPALIVE.items() if hasattr(socket, name)}
    own = {"socket_keepalive_options": keepalive, **given}
    if own.pop("ssl", False):
        own["connection_class"] = SSLConnection
    pool = ConnectionPool(**{**own, **options})
    pool.connection_kwargs.update(options)
    link: Link = pool.make_connection()  # type: ignore[no-untyped-call]
    check_streams(link)
    return link


async def connect(link: Link) -> None:
    await link.connect()  # type: ignore[no-untyped-call]


async def with_password(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a new connection. A password that is a function is asked for each, so that tokens which expire work."""
    password: Callable[[], Any] | None = options.get("password")
    if not callable(password):
        return options
    # It may ask another service, and must not keep this loop from its turns meanwhile.
    found = await asyncio.get_running_loop().run_in_executor(None, password)
    return {**options, "password": await found if inspect.isawaitable(found) else found}


class Greeting(NamedTuple):
    """What a server told of itself when a link was opened."""

    #: Its INFO as far as it was asked; empty where that may not be asked.
    info: str
    #: How Redis calls the link, where that was asked and may be.
    client_id: int | None


async def open_link(link: Link, name: str, asks_id: bool, section: str, fence: Fence) -> Greeting:
    """Connects. ``section`` of INFO is what is asked beside whether the data are loaded."""
    await connect(link)
    fencing = fence.commands
    commands: list[Command] = [*fencing, ("CLIENT", "SETNAME", name), ("INFO", "persistence"), ("INFO", section)]
    if asks_id:
        commands.append(("CLIENT", "ID"))
    await link.send_packed_command([b"".join(map(pack, commands))], check_health=False)
    info, client_id, own = "", None, None
    for at, command in enumerate(commands):
        try:
            answer = await link.read_response(disable_decoding=True, disconnect_on_error=False)
        except exceptions.NoPermissionError:
            # All of them can be done without.
            continue
        if at < len(fencing):
            own = answer
            continue
        if command[0] == "INFO":
            info += answer.decode("utf-8", "replace")
        elif command[1] == "ID":
            client_id = int(answer)
    if "\nloading:1" in info:
        raise exceptions.BusyLoadingError("Redis is loading the dataset in memory")
    fence.follow(own)
    return Greeting(info, client_id)
