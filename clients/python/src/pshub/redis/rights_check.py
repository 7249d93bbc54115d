"""Asks Redis what a user may not do. PROTOCOL.md, section 14.3."""

from __future__ import annotations

from ..wire.answers import texts_of
from ..wire.keys import Keys
from .connection import Connection
from .library import run
from .refusals import ReplyError, code_of

#: What pshub does without.
_DISPENSABLE = ("INFO", "CLIENT|SETNAME", "CLIENT|INFO", "CLIENT|KILL", "CLIENT|ID", "CLIENT|UNBLOCK", "WAIT")


def _is_of_clusters(command: str, key: str) -> bool:
    """Needed on a Cluster alone."""
    return command == "CLUSTER|SLOTS" or key.endswith("}:moving")


async def missing_rights(connection: Connection, role: str, keys: Keys, queue: str) -> str | None:
    """What the connected user lacks for ``hub`` or ``worker``, as text; None when it may do everything. Raises ReplyError."""
    try:
        denied = texts_of(await run(connection, "denied", [], [role, keys.namespace, queue]))
    except ReplyError as error:
        if code_of(error) != "NOPERM":
            raise
        return "FCALL"
    by_key: dict[str, list[str]] = {}
    for command, key in zip(denied[::2], denied[1::2]):
        if command not in _DISPENSABLE and (connection.is_cluster or not _is_of_clusters(command, key)):
            by_key.setdefault(key, []).append(command)
    return ", ".join(f"{' '.join(c)} on {key}" if key else " ".join(c) for key, c in by_key.items()) or None
