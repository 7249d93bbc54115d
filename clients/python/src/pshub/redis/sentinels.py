"""The sentinels of a master: who it is, and that it is another one from now on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from redis.asyncio.connection import Connection as Link

from ..wire.clock import now_s
from ..wire.raised import message_of
from .client import Command, connect, make_link, pack, with_password
from .reach import Reach, WrongRole, address_text, options_at
from .refusals import ConnectionLost
from .streams import bury
from .target import Address, Place

#: A sentinel that says nothing for so long is passed over.
_ASK_S = 1.0
#: A subscription that heard nothing for so long asks whether the sentinel is still there.
_QUIET_S = 5.0
_AGAIN_S = 1.0
#: Other sentinels hear of a failover within two seconds of the one that made it; until then they tell of the old master.
_NEWS_S = 5.0
_SWITCHED = b"+switch-master"

_Held = tuple[Address, Callable[[Exception], None]]


class Sentinels:
    """
    Shared by all connections of a hub or a worker. While one of them is up each sentinel is subscribed to: a master that was cut off
    from them may not know for long that it is none any more, and would confirm what is lost when it hears of that.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._turn = 0
        self._holds: dict[object, _Held] = {}
        self._subscribers: list[asyncio.Task[None]] = []
        #: What each sentinel said last.
        self._said: dict[Address, Address] = {}
        self._news: tuple[Address, float] | None = None

    async def master(self) -> Address:
        """Raises ConnectionLost when none of them knows."""
        if self._news and now_s() - self._news[1] < _NEWS_S:
            return self._news[0]
        # Another one first each time: one that is deaf must not take up each attempt's time.
        self._turn += 1
        first = self._turn % len(self.place.nodes)
        setbacks = []
        for sentinel in [*self.place.nodes[first:], *self.place.nodes[:first]]:
            try:
                return await asyncio.wait_for(self._ask(sentinel), _ASK_S)
            except Exception as error:
                reason = f"no answer within {_ASK_S:g} s" if isinstance(error, asyncio.TimeoutError) else message_of(error)
                setbacks.append(f"{address_text(sentinel)}: {reason}")
        raise ConnectionLost(f"no sentinel knows the address of the master '{self.place.name}' ({'; '.join(setbacks)})")

    def hold(self, address: Address, discard: Callable[[Exception], None]) -> Callable[[], None]:
        """A connection to that master is made; it is dropped when sentinels tell of another one."""
        key = object()
        self._holds[key] = (address, discard)
        if not self._subscribers:
            loop = asyncio.get_running_loop()
            self._subscribers = [loop.create_task(self._follow(sentinel)) for sentinel in self.place.nodes]
        self._compare()

        def let_go() -> None:
            if self._holds.pop(key, None) and not self._holds:
                subscribers, self._subscribers = self._subscribers, []
                self._said.clear()
                for each in subscribers:
                    each.cancel()

        return let_go

    async def _ask(self, sentinel: Address) -> Address:
        link = await self._open(sentinel)
        try:
            await _write(link, self._question)
            return self._address_in(await _read(link))
        finally:
            bury(link)

    async def _open(self, sentinel: Address) -> Link:
        link = make_link(await with_password(options_at(self.place.sentinel_options, sentinel)))
        try:
            await connect(link)
        except BaseException:
            bury(link)
            raise
        return link

    @property
    def _question(self) -> Command:
        return ("SENTINEL", "get-master-addr-by-name", self.place.name)

    def _address_in(self, answer: Any) -> Address:
        if not isinstance(answer, list) or len(answer) != 2:
            raise ConnectionLost(f"it knows no master '{self.place.name}'")
        return (answer[0].decode(), int(answer[1]))

    async def _follow(self, sentinel: Address) -> None:
        while True:
            try:
                link = await asyncio.wait_for(self._open(sentinel), _ASK_S)
                try:
                    await self._listen(sentinel, link)
                finally:
                    bury(link)
            except Exception:
                # Others are there, and where none is, whoever connects says so.
                self._said.pop(sentinel, None)
            await asyncio.sleep(_AGAIN_S)

    async def _listen(self, sentinel: Address, link: Link) -> None:
        """Returns, or raises, when the subscription is gone."""
        # In one write, so that nothing happens in between.
        await _write(link, self._question, ("SUBSCRIBE", _SWITCHED))
        self._said[sentinel] = self._address_in(await asyncio.wait_for(_read(link), _ASK_S))
        self._compare()
        reading: asyncio.Task[Any] = asyncio.ensure_future(_read(link))
        is_asked = False
        try:
            while True:
                await asyncio.wait({reading}, timeout=_QUIET_S)
                if reading.done():
                    self._hear(sentinel, reading.result())
                    reading = asyncio.ensure_future(_read(link))
                    is_asked = False
                elif is_asked:
                    return
                else:
                    await _write(link, ("PING",))
                    is_asked = True
        finally:
            reading.cancel()

    def _hear(self, sentinel: Address, answer: Any) -> None:
        """``<name> <old host> <old port> <new host> <new port>``, of any of its masters."""
        words = answer[2].split() if isinstance(answer, list) and answer[:2] == [b"message", _SWITCHED] else []
        if len(words) != 5 or words[0].decode() != self.place.name:
            return
        address = (words[3].decode(), int(words[4]))
        self._said[sentinel] = address
        self._news = (address, now_s())
        self._drop({address})

    def _compare(self) -> None:
        """
        A failover may have come between the question of a connection and the subscriptions. Counts when most sentinels say so: one
        that was cut off itself tells of an old one, and a connection must not go to and fro between them.
        """
        said = list(self._said.values())
        self._drop({each for each in said if said.count(each) * 2 > len(self.place.nodes)})

    def _drop(self, masters: set[Address]) -> None:
        for address, discard in list(self._holds.values()):
            if masters and address not in masters:
                discard(ConnectionLost(f"the sentinels report the master at {address_text(next(iter(masters)))}"))


class MasterReach(Reach):
    """The master that the sentinels name; one for each connection."""

    section = "replication"

    def __init__(self, sentinels: Sentinels) -> None:
        super().__init__(sentinels.place.options)
        self._sentinels = sentinels
        self._address: Address = ("", 0)
        self.open_s = Reach.open_s + _ASK_S * len(sentinels.place.nodes)

    async def options(self) -> Mapping[str, Any]:
        self._address = await self._sentinels.master()
        return await with_password(options_at(self._options, self._address))

    def check(self, info: str) -> None:
        if "\nrole:" in info and "\nrole:master" not in info:
            raise WrongRole(f"the sentinels name {address_text(self._address)}, which is not a master yet")

    def hold(self, discard: Callable[[Exception], None]) -> Callable[[], None]:
        return self._sentinels.hold(self._address, discard)


async def _write(link: Link, *commands: Command) -> None:
    await link.send_packed_command([b"".join(map(pack, commands))], check_health=False)


async def _read(link: Link) -> Any:
    return await link.read_response(disable_decoding=True, disconnect_on_error=False)
