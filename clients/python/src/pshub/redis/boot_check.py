"""Whether a server is fit for a worker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..wire.keys import Keys
from .connection import Connection
from .library import LIBRARY_REVISION, install
from .refusals import ConnectionLost, NotConnected, ReplyError, explained
from .rights_check import missing_rights


async def find_unfit(connection: Connection, keys: Keys, queues: Sequence[str]) -> list[str]:
    """
    What makes the server unfit for a worker of these queues, one sentence each; of a Cluster all its masters. What one does not tell is no
    reason, and one that is away only counts where the first one is.
    """
    reasons = await _unfit_here(connection, keys, queues)
    for name, master in connection.each_master():
        if name:
            with suppress(NotConnected, ConnectionLost):
                found = await _unfit_here(master, keys, queues)
                reasons += [f"node {name}: {reason}" for reason in found if reason not in reasons]
    return reasons


async def _unfit_here(connection: Connection, keys: Keys, queues: Sequence[str]) -> list[str]:
    try:
        text = (await connection.one("INFO")).decode("utf-8", "replace")
    except ReplyError:
        text = ""
    info = dict(line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith("#"))
    reasons = []
    version = info.get("redis_version", "7")
    if "valkey_version" not in info and int(version.split(".")[0]) < 7:
        reasons.append(f"Redis {version} is too old; 7.0 or newer is required")
    is_cluster = "cluster" in (info.get("redis_mode"), info.get("server_mode"))
    if info.get("role", "master") != "master" and not is_cluster:
        # Nothing more is asked of it: it would refuse to load the library, which ends the connection.
        return [f"this server is a {info['role']}, which refuses writes; connect to its master"]
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        reasons.append(
            f"maxmemory-policy is {policy}: a full server would silently drop requests. Set it with: redis-cli config set maxmemory-policy noeviction"
        )
    # Who may not run it is told so with its rights.
    with suppress(ReplyError):
        library = await install(connection)
        if not library.is_fit:
            has, needed = library.revision, LIBRARY_REVISION
            present = "is missing" if has is None else f"has revision {has}, and {needed} is needed"
            why = f", and it cannot be loaded: {explained(library.refusal)}" if library.refusal else ""
            reasons.append(f"pshub's library {present}{why}. Load it with: pshub install")
    for queue in queues:
        with suppress(ReplyError):
            missing = await missing_rights(connection, "worker", keys, queue)
            if not missing:
                continue
            reasons.append(f"this user may not serve a queue: it lacks {missing}. See 'pshub check --for worker'")
    return reasons


def unfit_text(reasons: list[str]) -> str:
    return f"This Redis cannot be used: {'; '.join(reasons)}."
