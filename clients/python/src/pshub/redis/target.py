"""Which Redis, as users name it."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Union
from urllib.parse import parse_qs, urlsplit

#: A Redis URL, or keyword arguments for redis-py's connections (``host``, ``port``, ``username``, ``password``, ``ssl`` ...).
RedisTarget = Union[str, Mapping[str, Any]]


def check_target(value: Any) -> Optional[str]:
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


def describe_target(target: RedisTarget) -> str:
    """The target as text that can be shown: no user, no password."""
    if not isinstance(target, str):
        return str(target.get("path") or f"{target.get('host', '127.0.0.1')}:{target.get('port', 6379)}")
    # Up to the last @, because a password may hold one; options after ? may be secrets too.
    return re.sub(r"(?s)\?.*$", "", re.sub(r"(?s)//.*@", "//", target))
