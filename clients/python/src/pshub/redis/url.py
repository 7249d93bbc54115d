"""What a Redis URL says. Its grammar is in PROTOCOL.md, its cases are in clients/vectors/addresses.json."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ..wire.errors import ConfigError

#: A host and its port.
Address = tuple[str, int]

ONE = "redis://127.0.0.1:6379"
SENTINEL = "redis+sentinel://host1:26379,host2:26379/name"
CLUSTER = "redis+cluster://host1:6379,host2:6379"
_EXAMPLES = {"one": ONE, "sentinel": SENTINEL, "cluster": CLUSTER}
_SCHEME = re.compile(r"(redis|rediss|unix)(?:\+(sentinel|cluster))?://(.*)", re.DOTALL)
_NODE = re.compile(r"(?:\[([0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\]|([^\s:/?#%\[\]\"',]+))(?::([0-9]{1,5}))?")


class RedisUrl(NamedTuple):
    #: ``one``, ``sentinel`` or ``cluster``.
    kind: str
    is_tls: bool
    #: Of ``one`` a single one; none where there is a socket.
    addresses: list[Address]
    #: The path of a Unix socket.
    path: str | None
    username: str | None
    password: str | None
    #: How sentinels call the master.
    name: str | None
    #: What follows ?, besides the database.
    options: dict[str, str]


def read_url(url: str) -> RedisUrl:
    """
    User and password end at the last @ of the URL, so that a password may stand there as it is. Raises ConfigError, whose message follows
    the name of the setting, and shows no part of the URL, which may be one of a password.
    """
    if url != url.strip(" \t\n\v\f\r"):
        raise ConfigError("must not begin or end with white space")
    if re.search(r"[\x00-\x1f\x7f]", url):
        raise ConfigError("must not hold a line break or another control character; in a password a line break is %0A")
    match = _SCHEME.fullmatch(url)
    if match is None or (match[1] == "unix" and match[2]):
        raise ConfigError(f"must be a URL like {ONE}, {SENTINEL} or {CLUSTER}")
    start, kind = match[1], match[2] or "one"
    before, _, behind = match[3].rpartition("@")
    place, _, query = behind.partition("?")
    hosts, slash, rest = place.partition("/")
    username, password = _credentials(before)
    options = _options(query)
    path = name = None
    addresses: list[Address] = []
    if start == "unix":
        path = _socket(hosts, slash + rest)
    elif kind == "sentinel":
        name = _name(rest)
    else:
        _check_database(rest)
    if start != "unix":
        addresses = _addresses(hosts, kind)
    return RedisUrl(kind, start == "rediss", addresses, path, username, password, name, options)


def shown_url(url: RedisUrl) -> str:
    """The URL as it can be shown: no user, no password, no options."""
    if url.path is not None:
        return f"unix://{url.path}"
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in url.addresses)
    start = ("rediss" if url.is_tls else "redis") + ("" if url.kind == "one" else f"+{url.kind}")
    return f"{start}://{hosts}" + ("" if url.name is None else f"/{url.name}")


def _credentials(text: str) -> tuple[str | None, str | None]:
    if re.search(r"[?&](sentinel)?(username|password)=", text, re.IGNORECASE):
        raise ConfigError("must have an @ behind its hosts written as %40, and a ? in its password as %3F")
    if text in ("", ":"):
        return None, None
    username, colon, password = text.partition(":")
    if not colon:
        raise ConfigError("must have a colon before the password, as in redis://user:password@host or redis://:password@host")
    return _decoded(username) or None, _decoded(password)


def _decoded(text: str) -> str:
    """A % that no two hexadecimal digits follow is one, and a + is one."""
    try:
        return re.sub(r"(?:%[0-9A-Fa-f]{2})+", lambda run: unquote_to_bytes(run[0]).decode(), text)
    except UnicodeDecodeError:
        raise ConfigError("must have each % of its password written as %25: what follows one is no text in UTF-8") from None


def _options(query: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    options = {name: _decoded(value) for name, _, value in pairs}
    _check_database(options.pop("db", ""))
    return options


def _check_database(text: str) -> None:
    if text not in ("", "0"):
        raise ConfigError("must not name a database; use 0, and a namespace to keep things apart")


def _name(path: str) -> str:
    name = _decoded(path)
    if not name or "/" in name:
        raise ConfigError(f"must name the master as the sentinels do, as in {SENTINEL}")
    return name


def _socket(hosts: str, path: str) -> str:
    if hosts or not path:
        raise ConfigError("must be the path of a socket, as in unix:///run/redis.sock")
    return _decoded(path)


def _addresses(hosts: str, kind: str) -> list[Address]:
    texts = hosts.split(",")
    if kind == "one" and len(texts) > 1:
        raise ConfigError(f"must list its hosts, as in {SENTINEL} or {CLUSTER}")
    addresses = []
    for text in texts:
        match = _NODE.fullmatch(text)
        port = int((match and match[3]) or (26379 if kind == "sentinel" else 6379))
        if match is None or not 0 < port < 65_536:
            raise ConfigError(f"must name each host by a name or an address, as in {_EXAMPLES[kind]}")
        addresses.append((match[1] or match[2], port))
    return addresses
