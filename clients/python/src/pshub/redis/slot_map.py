"""Which node of a Cluster serves which key."""

from __future__ import annotations

import asyncio
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..wire.clock import now_s, settle, start
from ..wire.raised import message_of
from .client import Word, connect, make_link, pack, with_password
from .reach import address_text, options_at
from .refusals import ANSWERS, ConnectionLost, ReplyError, answer_of
from .streams import bury
from .target import Address

SLOTS = 16_384
#: A node that says nothing for so long is passed over.
_ASK_S = 1.0
#: The map is read so often while it is wrong, and at most so often.
_WRONG_S = 0.25
_LEAST_S = 0.1


def slot_of(key: Word) -> int:
    """CRC16 of a key, or of what is between its first brace and the next closing one."""
    data = key if isinstance(key, bytes) else str(key).encode("utf-8", "replace")
    start = data.find(b"{")
    end = data.find(b"}", start + 1)
    if start >= 0 and end > start + 1:
        data = data[start + 1 : end]
    return binascii.crc_hqx(data, 0) % SLOTS


class SlotMap:
    """
    Shared by all connections of a hub or a worker. It is read over a connection of its own, from whichever node answers: those that
    carry commands may be blocked, or be to a node that is gone.
    """

    def __init__(self, seeds: Sequence[Address], options: Mapping[str, Any]) -> None:
        self._seeds = list(seeds)
        self._options = options
        self._slots: list[Address | None] = []
        self.masters: set[Address] = set()
        self._others: set[Address] = set()
        self._turn = 0
        #: Who is told when it has changed, or why it cannot be read.
        self._users: dict[object, Callable[[], None]] = {}
        #: What is wrong at the moment, as far as connections noticed: a node that is down, by its address; a slot without one.
        self._troubles: dict[object, Address | None] = {}
        self._is_wanted = False
        self._wake: asyncio.Future[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        #: Why there is none yet.
        self.reason: str | None = None

    @property
    def is_known(self) -> bool:
        return bool(self._slots)

    def node_of(self, slot: int) -> Address | None:
        return self._slots[slot] if self._slots else None

    def options_of(self, address: Address) -> Mapping[str, Any]:
        return options_at(self._options, address)

    def use(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Keeps it read, until the returned function is called."""
        key = object()
        self._users[key] = on_change
        if self._reading is None:
            self._reading = start(self._run())

        def end() -> None:
            self._users.pop(key, None)
            if not self._users and self._reading is not None:
                self._reading.cancel()
                self._reading = None

        return end

    def begin_at(self, seed: Address) -> None:
        if seed not in self._seeds:
            self._seeds.append(seed)

    def learn(self, slot: int, address: Address) -> None:
        """A node said so: MOVED. All the rest is read soon."""
        if not self._slots:
            self._slots = [None] * SLOTS
        self._slots[slot] = address
        self.masters.add(address)
        self.refresh()

    def refresh(self) -> None:
        self._is_wanted = True
        self._rouse()

    def trouble(self, key: object, address: Address | None = None) -> None:
        """Something is wrong until it is over: a node is down, or a slot has none."""
        self._troubles[key] = address
        self._rouse()

    def over(self, key: object) -> None:
        self._troubles.pop(key, None)

    def _rouse(self) -> None:
        if self._wake is not None:
            settle(self._wake)

    async def _run(self) -> None:
        while True:
            begun = now_s()
            self._is_wanted = False
            await self._read()
            self._wake = asyncio.get_running_loop().create_future()
            is_wrong = bool(self._troubles) or not self.is_known
            if not self._is_wanted:
                await asyncio.wait({self._wake}, timeout=_WRONG_S if is_wrong else None)
            least_s = _LEAST_S if self._is_wanted else _WRONG_S
            await asyncio.sleep(max(0.0, least_s - (now_s() - begun)))

    async def _read(self) -> None:
        down = {address for address in self._troubles.values() if address}
        known = list(dict.fromkeys([*sorted(self.masters), *sorted(self._others), *self._seeds]))
        self._turn += 1
        first = self._turn % len(known)
        in_turn = [*known[first:], *known[:first]]
        setbacks = []
        refusal: str | None = None
        for address in sorted(in_turn, key=lambda each: each in down):
            try:
                self._take(address, await asyncio.wait_for(self._ask(address), _ASK_S))
                return
            except Exception as error:
                reason = f"no answer within {_ASK_S:g} s" if isinstance(error, asyncio.TimeoutError) else message_of(error)
                setbacks.append(f"{reason} ({address_text(address)})")
                if isinstance(error, ReplyError):
                    refusal = refusal or setbacks[-1]
        if not self.is_known:
            # A refusal as it is: by how it begins people are told what to do about it.
            self.reason = refusal or f"no node reports its slots: {'; '.join(setbacks)}"
            self._tell()

    async def _ask(self, address: Address) -> Any:
        link = make_link(await with_password(self.options_of(address)))
        try:
            await connect(link)
            await link.send_packed_command([pack(("CLUSTER", "SLOTS"))], check_health=False)
            answer = await link.read_response(disable_decoding=True, disconnect_on_error=False)
        except ANSWERS as error:
            raise answer_of(error) from None
        finally:
            bury(link)
        if not answer:
            raise ConnectionLost("it belongs to no Cluster with slots")
        return answer

    def _take(self, asked: Address, ranges: Any) -> None:
        slots: list[Address | None] = [None] * SLOTS
        masters, others = set(), set()
        for first, last, *nodes in ranges:
            # Without a host it is the one that was asked.
            found = [((node[0] or b"").decode().strip("?") or asked[0], int(node[1])) for node in nodes]
            slots[first : last + 1] = [found[0]] * (last - first + 1)
            masters.add(found[0])
            others.update(found[1:])
        self._others = others
        self.reason = None
        if slots != self._slots or masters != self.masters:
            self._slots, self.masters = slots, masters
            self._tell()

    def _tell(self) -> None:
        for on_change in list(self._users.values()):
            on_change()
