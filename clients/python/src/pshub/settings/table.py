"""Every setting there is, in one table: option, else environment, else default."""

from __future__ import annotations

import os
import re
import socket
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, Union
from urllib.parse import parse_qs, urlsplit

from ..wire.errors import ConfigError
from ..wire.keys import is_namespace, is_queue_name

#: A Redis URL, or keyword arguments for redis-py's connections (``host``, ``port``, ``username``, ``password``, ``ssl`` ...).
RedisTarget = Union[str, Mapping[str, Any]]


class Settings:
    redis: RedisTarget
    namespace: str
    name: str
    queue: str
    slots: int
    max_payload_bytes: int
    max_backlog: int
    grace: float
    lease: float
    statsd: Optional[str]


class _Setting(NamedTuple):
    users: Tuple[str, ...]
    env: str
    fallback: Any
    parse: Callable[[str], Any]
    check: Callable[[Any], Optional[str]]
    #: The environment speaks of milliseconds where this package speaks of seconds.
    env_factor: float = 1


def _integer(low: int, high: int) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a whole number from {low} to {high}"

    return check


def _seconds(low: float, high: float) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if fits else f"must be a number of seconds from {low:g} to {high:g}"

    return check


def _target(value: Any) -> Optional[str]:
    if isinstance(value, Mapping):
        return "must not name a database: use 0 and the option 'namespace'" if value.get("db") else None
    if not isinstance(value, str):
        return "must be a URL like redis://127.0.0.1:6379 or a dict of redis-py's options"
    url = urlsplit(value)
    if url.scheme not in ("redis", "rediss", "unix"):
        return "must be a URL like redis://127.0.0.1:6379 or a dict of redis-py's options"
    database = "" if url.scheme == "unix" else url.path.strip("/")
    database = parse_qs(url.query).get("db", [database])[0]
    return "must not name a database: use 0 and the option 'namespace'" if database not in ("", "0") else None


def _text(low: int, high: int) -> Callable[[Any], Optional[str]]:
    def check(value: Any) -> Optional[str]:
        fits = isinstance(value, str) and low <= len(value) <= high
        return None if fits else f"must be a text of {low} to {high} characters"

    return check


def _statsd(value: Any) -> Optional[str]:
    fits = value is None or (isinstance(value, str) and re.fullmatch(r"[^\s:]+:[0-9]{1,5}", value))
    return None if fits else "must be host:port"


_TABLE: Dict[str, _Setting] = {
    "redis": _Setting(("hub", "worker"), "PSHUB_REDIS", "redis://127.0.0.1:6379", str, _target),
    "namespace": _Setting(
        ("hub", "worker"), "PSHUB_NAMESPACE", "pshub", str,
        lambda value: None if is_namespace(value) else "must be 1 to 32 letters, digits, and _ . -",
    ),  # fmt: skip
    "name": _Setting(("hub",), "PSHUB_NAME", lambda: socket.gethostname()[:64], str, _text(1, 64)),
    "queue": _Setting(
        ("worker",), "PSHUB_QUEUE", "default", str,
        lambda value: None if is_queue_name(value) else "must be 1 to 64 letters, digits, and _ . -",
    ),  # fmt: skip
    "slots": _Setting(("worker",), "PSHUB_SLOTS", 4, int, _integer(1, 256)),
    "max_payload_bytes": _Setting(
        ("hub", "worker"), "PSHUB_MAX_PAYLOAD_BYTES", 1024 * 1024, int, _integer(1024, 64 * 1024 * 1024)
    ),
    "max_backlog": _Setting(("hub", "worker"), "PSHUB_MAX_BACKLOG", 10_000, int, _integer(1, 10_000_000)),
    "grace": _Setting(("worker",), "PSHUB_GRACE_MS", 10.0, float, _seconds(0, 3600), 1000),
    # A beat is sent every second; with less, one that is late would pass for a death.
    "lease": _Setting(("worker",), "PSHUB_LEASE_MS", 4.0, float, _seconds(2, 600), 1000),
    "statsd": _Setting(("hub", "worker"), "PSHUB_STATSD", None, str, _statsd),
}


def read_settings(user: str, options: Mapping[str, Any]) -> Settings:
    """Raises ConfigError that names the setting, where its value came from, and what would be right."""
    known = [name for name, setting in _TABLE.items() if user in setting.users]
    for name in options:
        if name not in known:
            raise ConfigError(f"There is no option {name!r}. Known are {', '.join(known)}.")
    settings = Settings()
    for name in known:
        setting = _TABLE[name]
        origin = f"option {name!r}"
        value = options.get(name)
        text = os.environ.get(setting.env)
        if value is None and text:
            origin = setting.env
            try:
                value = setting.parse(text)
                if setting.env_factor != 1:
                    value /= setting.env_factor
            except ValueError:
                value = text
        elif value is None:
            value = setting.fallback() if callable(setting.fallback) else setting.fallback
        wrong = setting.check(value)
        if wrong:
            shown = "" if name == "redis" else f"; it is {value!r}"
            raise ConfigError(f"{origin} {wrong}{shown}.")
        setattr(settings, name, value)
    return settings
