"""One reply list per hub, whatever it calls. PROTOCOL.md, section 9.4."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..queue.batches import MAX_BATCH_BYTES
from ..queue.queue import REPLY_TTL_MS
from ..redis.client import Command
from ..redis.connection import Connection
from ..redis.connections import BLOCK_S
from ..redis.refusals import NotConnected, ReplyError, first, is_full, is_passing, is_refusal, none_refused
from ..wire.clock import Stop, backoff_s, now_s, settle, sleep, start
from ..wire.message import decode_reply

#: So many replies are read at first, and never more than that. In between the largest ones say how many.
_FIRST_PAGE = 8
_MAX_PAGE = 256
#: The first entry of the second list, which makes it with an end of life. It is no reply.
_OPENER = b""
#: The second list is cut when it holds more than this.
_MAX_KEPT_BYTES = 16_000
#: Without a call for this long nothing is kept in Redis. Sooner, a lone caller would pay for it with each call.
_LINGER_S = 0.05
#: How often a full Redis, which refuses the blocking read, is asked instead.
_FULL_POLL_S = 0.02


class Inbox:
    """
    Each round waits for a reply and reads all that are there, in one write. Replies are read before they are removed, so a cut
    connection loses none: BLMOVE takes the first one and keeps it in a second list, LRANGE reads the rest, and LTRIM removes those
    at the beginning of the next round, which is only sent once they are here.
    """

    def __init__(
        self,
        connection: Connection,
        key: str,
        read_key: str,
        expected: Callable[[], int],
        on_reply: Callable[[dict[str, Any], bool], None],
        on_problem: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._key = key
        self._read_key = read_key
        #: How many replies are waited for; while none is the inbox rests.
        self._expected = expected
        #: The second argument marks what may have been read before, because the connection broke in between.
        self._on_reply = on_reply
        self._on_problem = on_problem
        self._closing = Stop()
        self._loop: asyncio.Task[None] | None = None
        self._resting: asyncio.Future[None] | None = None
        #: Entries at the head of the reply list that were delivered and are not removed yet.
        self._delivered = 0
        #: About what the second list holds.
        self._kept = 0
        self._expires_at = 0.0
        #: A round's answer was lost: what it moved may be in the second list and nowhere else.
        self._unsure = False
        self._failures = 0
        self._page = _FIRST_PAGE

    def wake(self) -> None:
        """Starts reading unless it does already. Called before each push."""
        if self._resting is not None:
            settle(self._resting)
        if self._loop is None and not self._closing.is_set:
            self._loop = start(self._run())

    async def stop(self) -> None:
        self._closing.set()
        if self._resting is not None:
            settle(self._resting)
        if self._loop is not None:
            await asyncio.wait({self._loop})

    async def _run(self) -> None:
        try:
            while (self._expected() or self._leaves()) and not self._closing.is_set:
                await self._connection.when_ready(self._closing)
                try:
                    if self._unsure:
                        await self._read_again()
                    else:
                        if self._expected():
                            self._deliver(await self._round(), False)
                        elif await self._rested():
                            await self._tidy()
                        self._failures = 0
                    # The calls these replies set off are written first; they are what somebody waits for.
                    await asyncio.sleep(0)
                except Exception as error:
                    if self._closing.is_set:
                        return
                    await self._recover(error)
        finally:
            self._loop = None
            # A call may have come between the last look and here.
            if self._expected():
                self.wake()

    async def _round(self) -> list[bytes]:
        expire = now_s() > self._expires_at - REPLY_TTL_MS / 2000
        trim = self._kept > _MAX_KEPT_BYTES
        # A lone caller can have no second reply; each command costs it some of its wait.
        look = self._expected() > 1
        commands: list[Command] = []
        if self._delivered > 0:
            commands.append(("LTRIM", self._key, self._delivered, -1))
        if expire:
            # Made by BLMOVE it would stay for ever where this process is killed before more is run.
            commands += [("RPUSH", self._read_key, _OPENER), ("PEXPIRE", self._read_key, REPLY_TTL_MS)]
        at = len(commands)
        commands.append(("BLMOVE", self._key, self._read_key, "LEFT", "RIGHT", BLOCK_S))
        if trim:
            commands.append(("LTRIM", self._read_key, -1, -1))
        if look:
            commands.append(("LRANGE", self._key, 0, self._page - 1))
        answers = none_refused(await self._connection.post(*commands))
        moved = answers[at]
        rest: list[bytes] = answers[at + 1 + trim] if look else []
        self._delivered = len(rest)
        if trim:
            self._kept = 0
        if expire:
            self._expires_at = now_s() + REPLY_TTL_MS / 1000
            self._kept += 1
        if moved is None:
            return rest
        self._kept += len(moved) + 64
        return [moved, *rest]

    def _leaves(self) -> bool:
        """Whether something of this inbox is in Redis that nobody needs any more once all calls are settled."""
        return self._unsure or self._delivered > 0 or self._kept > 0

    async def _rested(self) -> bool:
        """False when a call came meanwhile."""
        loop = asyncio.get_running_loop()
        self._resting = loop.create_future()
        timer = loop.call_later(_LINGER_S, settle, self._resting)
        await self._resting
        timer.cancel()
        self._resting = None
        return not self._expected() and not self._closing.is_set

    async def _tidy(self) -> None:
        """Nobody waits: leaves nothing behind."""
        commands: list[Command] = [("UNLINK", self._read_key)]
        if self._delivered > 0:
            commands.append(("LTRIM", self._key, self._delivered, -1))
        first(await self._connection.post(*commands))
        self._delivered = self._kept = 0
        self._expires_at = 0.0

    def _deliver(self, page: list[bytes], again: bool) -> None:
        longest = 0
        for text in page:
            longest = max(longest, len(text))
            reply = decode_reply(text)
            if reply is not None:
                self._on_reply(reply, again)
            else:
                self._on_problem("dropped an invalid reply")
        # Twice as many at the most: a page is asked for before anybody knows how large its replies are.
        if longest > 0:
            self._page = max(1, min(_MAX_PAGE, self._page * 2, MAX_BATCH_BYTES // longest))

    async def _recover(self, error: Exception) -> None:
        """Whether the last round was run is unknown now: nothing is removed before both lists were read again."""
        full = is_full(error)
        # What passes by itself the callers hear of.
        if isinstance(error, ReplyError) and not full and not is_passing(error):
            self._on_problem(str(error))
        # The trim ahead of a refused command was run, and may be run again only with a new count.
        self._delivered = 0
        self._expires_at = 0.0
        # Where Redis refuses even this and nobody waits, what is left goes by itself.
        self._unsure = self._expected() > 0 or not is_refusal(error)
        if not self._unsure:
            self._kept = 0
        if not isinstance(error, NotConnected):
            await sleep(_FULL_POLL_S if full else backoff_s(self._failures, 0.01, 1.0), self._closing)
        self._failures += 1

    async def _read_again(self) -> None:
        """
        Reads both lists from their beginning; what was delivered before is recognised by its id. A full Redis, which refuses
        BLMOVE, is read this way all along.
        """
        both = ("LRANGE", self._read_key, 0, -1), ("LRANGE", self._key, 0, self._page - 1)
        kept, waiting = none_refused(await self._connection.post(*both))
        self._unsure = False
        self._kept = sum(len(text) + 64 for text in kept)
        self._delivered = len(waiting)
        self._deliver([*(text for text in kept if text != _OPENER), *waiting], True)
