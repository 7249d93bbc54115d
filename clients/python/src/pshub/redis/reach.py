"""How a connection comes to its server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .client import with_password
from .refusals import ConnectionLost
from .target import Address


class Reach:
    """A server at an address of its own."""

    #: How long a new connection gets to be of use, before the next one is tried.
    open_s = 3.0
    #: What INFO is asked for.
    section = "server"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options

    @property
    def address(self) -> Address:
        return (str(self._options.get("host", "127.0.0.1")), int(self._options.get("port", 6379)))

    async def options(self) -> Mapping[str, Any]:
        """redis-py's, of a new connection."""
        return await with_password(self._options)

    def check(self, info: str) -> None:
        """Raises what is wrong with the server, going by its INFO; that is empty where it may not be asked."""

    def hold(self, discard: Callable[[Exception], None]) -> Callable[[], None]:
        """A connection is made: ``discard`` drops it. To be called when it is gone, once or more often: what is returned."""
        return lambda: None


class FirstReach(Reach):
    """The server that users named, which may be a node of a Cluster."""

    def __init__(self, options: Mapping[str, Any], on_greeting: Callable[[bool], None]) -> None:
        super().__init__(options)
        #: Told when it is a node of a Cluster, and when it does not say what it is.
        self._on_greeting = on_greeting

    def check(self, info: str) -> None:
        if not info:
            self._on_greeting(False)
        elif any(f"\n{key}:cluster" in info for key in ("redis_mode", "server_mode")):
            self._on_greeting(True)
            raise WrongRole("this server is a node of a Cluster")


class WrongRole(ConnectionLost):
    """A server that is not what it was named as."""


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def options_at(options: Mapping[str, Any], address: Address) -> Mapping[str, Any]:
    """The same options for another server."""
    host, port = address
    return {**options, "host": host, "port": port}
