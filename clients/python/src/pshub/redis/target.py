"""Which Redis, as users name it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url

from ..wire.errors import ConfigError
from .url import SENTINEL, RedisUrl, read_url, shown_url
from .url import Address as Address

#: A Redis URL, or keyword arguments for redis-py's connections (``host``, ``port``, ``username``, ``password``, ``ssl`` ...), with
#: ``sentinels`` and ``name``, or ``cluster``, in the place of ``host`` and ``port``.
RedisTarget = str | Mapping[str, Any]

_PORT = 6379
_SENTINEL_PORT = 26379
_DATABASE = "must not name a database; use 0, and a namespace to keep things apart"
_SENTINELS_OWN = ("sentinelUsername", "sentinelPassword")


class Place(NamedTuple):
    """A target taken apart."""

    #: ``one``: a server, or any node of a Cluster; ``sentinel``: the master that sentinels name; ``cluster``: nodes to begin with.
    kind: str
    #: Of ``one`` none: its options have it.
    nodes: Sequence[Address]
    #: For redis-py, of the servers that have the data.
    options: Mapping[str, Any]
    #: The same of the sentinels, and how they call the master.
    sentinel_options: Mapping[str, Any] = {}
    name: str = ""


def read_target(target: Any) -> Place:
    """Raises ConfigError; its message follows the name of the setting."""
    if isinstance(target, Mapping):
        return _place_of_options(target)
    if isinstance(target, str):
        return _place_of_url(read_url(target))
    raise ConfigError("must be a URL like redis://127.0.0.1:6379 or a dict of redis-py's options")


def check_target(value: Any) -> str | None:
    try:
        read_target(value)
    except ConfigError as error:
        return str(error)
    return None


def describe_target(target: RedisTarget) -> str:
    """The target as text that can be shown: no user, no password."""
    if isinstance(target, str):
        return shown_url(read_url(target))
    for key, kind, port in (("sentinels", "sentinel", _SENTINEL_PORT), ("cluster", "cluster", _PORT)):
        if target.get(key):
            nodes = ",".join(f"{_bracketed(host)}:{at}" for host, at in _listed(key, target[key], port))
            scheme = "rediss" if target.get("ssl") else "redis"
            return f"{scheme}+{kind}://{nodes}" + (f"/{target.get('name')}" if kind == "sentinel" else "")
    return str(target.get("path") or f"{target.get('host', '127.0.0.1')}:{target.get('port', _PORT)}")


def _place_of_url(url: RedisUrl) -> Place:
    own = {name: url.options[name] for name in _SENTINELS_OWN if url.kind == "sentinel" and name in url.options}
    options = _redis_pys(url, {name: value for name, value in url.options.items() if name not in own})
    if url.kind == "sentinel":
        return _sentinel_place(url.addresses, options, url.name, own.get("sentinelUsername"), own.get("sentinelPassword"))
    if url.kind == "cluster":
        return Place("cluster", url.addresses, options)
    if url.path is not None:
        return Place("one", (), {**options, "path": url.path})
    [(host, port)] = url.addresses
    return Place("one", (), {**options, "host": host, "port": port})


def _redis_pys(url: RedisUrl, given: dict[str, str]) -> dict[str, Any]:
    """User, password and what follows ? as redis-py takes them, which reads the latter of a URL of its own."""
    scheme = "unix" if url.path is not None else "rediss" if url.is_tls else "redis"
    kind = UnixDomainSocketConnection if url.path is not None else SSLConnection if url.is_tls else Connection
    known = {name for each in kind.__mro__[:-1] for name in inspect.signature(each).parameters}
    wrong = {*given} - known or {*given} & {"self", "args", "kwargs", "host", "port", "path", "db", "username", "password"}
    try:
        read = {} if wrong else dict(parse_url(f"{scheme}:///?{urlencode(given)}"))
    except ValueError:
        wrong, read = {*given}, {}
    if wrong:
        own = f"{', '.join(_SENTINELS_OWN)} and " if url.kind == "sentinel" else ""
        raise ConfigError(f"has an unsupported option after ?; it may have {own}the options of redis-py except user and password")
    if url.username is not None:
        read["username"] = url.username
    if url.password is not None:
        read["password"] = url.password
    return read


def _place_of_options(given: Mapping[str, Any]) -> Place:
    options = dict(given)
    if options.get("db"):
        raise ConfigError(_DATABASE)
    sentinels, cluster = options.pop("sentinels", None), options.pop("cluster", None)
    own = [options.pop(key, None) for key in ("name", "sentinel_username", "sentinel_password")]
    if sentinels is None and cluster is None:
        if any(each is not None for each in own):
            raise ConfigError("names no sentinels: give 'sentinels', a list of {'host': ..., 'port': ...}")
        return Place("one", (), options)
    if sentinels is not None and cluster is not None:
        raise ConfigError("must have 'sentinels' or 'cluster', not both")
    key = "sentinels" if cluster is None else "cluster"
    if {"host", "port", "path"} & {*options}:
        raise ConfigError(f"must not have 'host', 'port' or 'path' beside '{key}', which has them")
    if cluster is None:
        return _sentinel_place(_listed(key, sentinels, _SENTINEL_PORT), options, *own)
    if any(each is not None for each in own):
        raise ConfigError("must have 'name', 'sentinel_username' and 'sentinel_password' with 'sentinels' only")
    return Place("cluster", _listed(key, cluster, _PORT), options)


def _sentinel_place(nodes: Sequence[Address], options: dict[str, Any], name: Any, username: str | None, password: Any) -> Place:
    if not isinstance(name, str) or not name or "/" in name:
        raise ConfigError(f"must name the master as the sentinels do, as in {SENTINEL}; in a dict it is 'name'")
    # User and password are the data servers'. All else, as what TLS needs, is the same for both.
    secrets = ("username", "password", "credential_provider")
    own: dict[str, Any] = {key: value for key, value in options.items() if key not in secrets}
    if username is not None:
        own["username"] = username
    if password is not None:
        own["password"] = password
    return Place("sentinel", nodes, options, own, name)


def _listed(key: str, given: Any, port: int) -> list[Address]:
    nodes: list[Address] = []
    for each in given if isinstance(given, (list, tuple)) else []:
        host, at = (each.get("host"), each.get("port", port)) if isinstance(each, Mapping) else (None, None)
        if not isinstance(host, str) or not host or type(at) is not int or not 0 < at < 65_536:
            nodes = []
            break
        nodes.append((host, at))
    if not nodes:
        raise ConfigError(f"must have in '{key}' a list like [{{'host': '127.0.0.1', 'port': {port}}}]")
    return nodes


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
