"""Which Redis, as users name it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from redis.asyncio.connection import parse_url

from ..wire.errors import ConfigError

#: A Redis URL, or keyword arguments for redis-py's connections (``host``, ``port``, ``username``, ``password``, ``ssl`` ...), with
#: ``sentinels`` and ``name``, or ``cluster``, in the place of ``host`` and ``port``.
RedisTarget = str | Mapping[str, Any]

#: A host and its port.
Address = tuple[str, int]

_PORT = 6379
_SENTINEL_PORT = 26379
_PLAIN = "must be a URL like redis://127.0.0.1:6379 or a dict of redis-py's options"
_DATABASE = "must not name a database: use 0 and the option 'namespace'"
_SENTINEL = "as in redis+sentinel://user:password@host1:26379,host2:26379/master-name"
_CLUSTER = "as in redis+cluster://user:password@host1:6379,host2:6379"
_NODE = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:/\[\]]+))(?::([0-9]{1,5}))?")


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
    if not isinstance(target, str):
        raise ConfigError(_PLAIN)
    try:
        scheme = urlsplit(target).scheme
        if scheme in ("redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"):
            return _place_of_nodes(target, *scheme.split("+"))
        return _place_of_url(target, scheme)
    except ValueError:
        # Of Python's own readers, for what is no URL at all, a port that is none, an option with a wrong value.
        raise ConfigError(_PLAIN) from None


def check_target(value: Any) -> str | None:
    try:
        read_target(value)
    except ConfigError as error:
        return str(error)
    return None


def describe_target(target: RedisTarget) -> str:
    """The target as text that can be shown: no user, no password."""
    if isinstance(target, str):
        return _shown_url(target)
    for key, kind, port in (("sentinels", "sentinel", _SENTINEL_PORT), ("cluster", "cluster", _PORT)):
        if target.get(key):
            nodes = ",".join(f"{_bracketed(host)}:{at}" for host, at in _listed(key, target[key], port))
            scheme = "rediss" if target.get("ssl") else "redis"
            return f"{scheme}+{kind}://{nodes}" + (f"/{target.get('name')}" if kind == "sentinel" else "")
    return str(target.get("path") or f"{target.get('host', '127.0.0.1')}:{target.get('port', _PORT)}")


def _shown_url(url: str) -> str:
    head, _, query = url.partition("?")
    # Where a password holds a ? that is not written as %3F nobody can tell it from an option, and both may be secrets.
    if "@" in query:
        return f"{head.split('://')[0]}://..."
    # Up to the last @, because a password may hold one.
    return re.sub(r"(?s)//.*@", "//", head)


def _place_of_url(url: str, scheme: str) -> Place:
    if scheme not in ("redis", "rediss", "unix"):
        raise ConfigError(_PLAIN)
    parts = urlsplit(url)
    if "," in parts.netloc.rpartition("@")[2]:
        raise ConfigError(f"names several hosts: write which they are, {_SENTINEL} or {_CLUSTER}")
    database = "" if scheme == "unix" else parts.path.strip("/")
    if parse_qs(parts.query).get("db", [database])[0] not in ("", "0"):
        raise ConfigError(_DATABASE)
    return Place("one", (), dict(parse_url(url)))


def _place_of_nodes(url: str, scheme: str, kind: str) -> Place:
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    query = parse_qs(parts.query, keep_blank_values=True)
    example = _SENTINEL if kind == "sentinel" else _CLUSTER
    nodes = _parsed(hosts, _SENTINEL_PORT if kind == "sentinel" else _PORT, example)
    own = {name: query.pop(name)[0] for name in ("sentinelUsername", "sentinelPassword") if name in query}
    if query.pop("db", ["0"])[0] not in ("", "0"):
        raise ConfigError(_DATABASE)
    # redis-py reads the rest, of some server or other.
    some = parse_url(f"{scheme}://{user}{at}localhost" + (f"?{urlencode(query, True)}" if query else ""))
    options = {key: value for key, value in some.items() if key not in ("host", "port")}
    name = parts.path.strip("/")
    if kind == "sentinel":
        return _sentinel_place(nodes, options, name, own.get("sentinelUsername"), own.get("sentinelPassword"))
    if name not in ("", "0"):
        raise ConfigError(_DATABASE)
    if own:
        raise ConfigError(f"names {next(iter(own))}, which a Cluster has no use for: write {_CLUSTER}")
    return Place("cluster", nodes, options)


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
        raise ConfigError(f"must say how the sentinels call the master, {_SENTINEL}; in a dict it is 'name'")
    # User and password are the data servers'. All else, as what TLS needs, is the same for both.
    secrets = ("username", "password", "credential_provider")
    own: dict[str, Any] = {key: value for key, value in options.items() if key not in secrets}
    if username is not None:
        own["username"] = username
    if password is not None:
        own["password"] = password
    return Place("sentinel", nodes, options, own, name)


def _parsed(hosts: str, port: int, example: str) -> list[Address]:
    found = [_NODE.fullmatch(text) for text in hosts.split(",")]
    nodes = [(match[1] or match[2], int(match[3] or port)) for match in found if match]
    if len(nodes) < len(found) or not all(0 < at < 65_536 for _, at in nodes):
        raise ConfigError(f"must name hosts with their ports, {example}")
    return nodes


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
