"""The Lua scripts, byte for byte those of the reference implementation."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any, List, Sequence

from ..redis.client import Word
from ..redis.connection import Connection
from ..redis.refusals import ReplyError, is_no_script

_FOLDER = Path(__file__).parent / "lua"


class Script:
    """Sent by its digest, and in full where the server does not know it yet."""

    def __init__(self, name: str) -> None:
        self.text = (_FOLDER / f"{name}.lua").read_bytes()
        self.digest = hashlib.sha1(self.text).hexdigest()

    def full(self, keys: Sequence[Word], args: Sequence[Word]) -> List[Word]:
        return ["EVAL", self.text, len(keys), *keys, *args]

    def command(self, connection: Connection, keys: Sequence[Word], args: Sequence[Word]) -> List[Word]:
        known = connection.known
        if self.digest in known:
            return ["EVALSHA", self.digest, len(keys), *keys, *args]
        # In full once per connection: nothing that is sent behind a script may run ahead of its second try.
        known.add(self.digest)
        return self.full(keys, args)

    async def run(self, connection: Connection, keys: Sequence[Word], args: Sequence[Word]) -> Any:
        return await self.answer(connection, connection.post(self.command(connection, keys, args)), keys, args)

    async def answer(
        self, connection: Connection, posted: "asyncio.Future[List[Any]]", keys: Sequence[Word], args: Sequence[Word]
    ) -> Any:
        """The last answer of what was posted with ``command``."""
        answer = (await posted)[-1]
        if isinstance(answer, ReplyError):
            # NOSCRIPT means that nothing was run, so sending it again in full is safe.
            if not is_no_script(answer):
                raise answer
            return await connection.one(*self.full(keys, args))
        return answer


PUSH, CLAIM, REPLY, BEAT, HANDBACK, LEAVE, ADOPT, CANCEL, DECLARE = map(
    Script, ("push", "claim", "reply", "beat", "handback", "leave", "adopt", "cancel", "declare")
)
