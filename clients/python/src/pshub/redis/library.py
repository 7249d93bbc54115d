"""
The library of Redis Functions: all that is done in one step in Redis. A client needs their names alone; whoever has the right loads
it where it is missing or older. Redis keeps it like data: on disk and on replicas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from .client import Word
from .connection import Connection
from .lua_sources import lua_text
from .redirect import key_of
from .refusals import ReplyError, is_full, is_passing

#: Of the library that this package brings along. A higher one replaces a lower one, never the other way round.
LIBRARY_REVISION = 7
#: The library may be gone once more before the function is called again.
_TRIES = 5
_FILE = "redis/library.lua"


class Installed(NamedTuple):
    #: What is there now; None: nothing.
    revision: int | None
    #: Why it could not be loaded.
    refusal: str | None = None

    @property
    def is_fit(self) -> bool:
        return self.revision is not None and self.revision >= LIBRARY_REVISION


def function_call(operation: str, keys: Sequence[Word], args: Sequence[Word]) -> list[Word]:
    return ["FCALL", f"pshub_1_{operation}", len(keys), *keys, *args]


async def run(connection: Connection, operation: str, keys: Sequence[Word], args: Sequence[Word]) -> Any:
    call = function_call(operation, keys, args)
    return await answer_to(connection, connection.post(call), call)


async def answer_to(connection: Connection, posted: asyncio.Future[list[Any]], call: Sequence[Word]) -> Any:
    """
    The answer of a function that was posted last. Where it is missing, which means that nothing was run, the library is loaded and
    it is called again: somebody flushed this Redis, or a replica was promoted that had not heard of it.
    """
    answer = (await posted)[-1]
    for _ in range(_TRIES - 1):
        if not isinstance(answer, ReplyError) or not _is_missing(answer):
            break
        # On the very server that lacks it.
        key = key_of(call)
        installed = await install(connection if key is None else connection.at(key))
        if installed.refusal:
            # Who may not load it is told what is missing, and what to do about it; who could but for a full Redis, that.
            refusal = ReplyError(installed.refusal)
            raise refusal if is_full(refusal) else answer
        answer = (await connection.post(call))[-1]
    if isinstance(answer, ReplyError):
        raise answer
    return answer


async def install(connection: Connection) -> Installed:
    """Sees to it that this Redis has the library, of this revision or a newer one. Raises ReplyError for what may pass by itself."""
    present = Installed(await _revision(connection))
    if present.is_fit:
        return present
    try:
        text = lua_text(_FILE)
        await connection.one("FUNCTION", "LOAD", *([] if present.revision is None else ["REPLACE"]), text)
    except OSError as error:
        return Installed(present.revision, f"this package's {_FILE} cannot be read: {error.strerror}")
    except ReplyError as error:
        if is_passing(error):
            raise
        # Else somebody was quicker.
        if "already exists" not in str(error):
            return Installed(present.revision, str(error))
    # Asked again: a newer one may have come at the same moment, and an older one replaced it.
    return Installed(await _revision(connection))


async def _revision(connection: Connection) -> int | None:
    try:
        return int(await connection.one(*function_call("revision", [], [])))
    except ReplyError as error:
        if _is_missing(error):
            return None
        raise


def _is_missing(error: ReplyError) -> bool:
    return str(error).startswith("ERR Function not found")
