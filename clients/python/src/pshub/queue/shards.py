"""
Over which shards a queue is spread: queues of their own, each under its own hash tag. The record lies in the place of each of them. While it
is ``coming`` workers serve the new ones already, and hubs put work where they did before; while it says how it was ``earlier``, jobs may be
left where they belonged by that. PROTOCOL.md, section 10.20.
"""

from __future__ import annotations

import binascii
import re
from typing import Any, NamedTuple

from ..redis.connection import Connection
from ..redis.library import run
from ..redis.refusals import ReplyError, is_refusal
from ..wire.foreign import Unreadable, is_count, object_of
from ..wire.keys import Keys, is_queue_name, is_shard_of, whole_queue
from ..wire.payload import compact

MOST_SHARDS = 256
#: What the functions read of it at the most.
_MAX_LENGTH = 100_000
_EPOCH = re.compile(rb'\{"epoch":([0-9]{1,15}),')

#: The first one is the queue itself, always.
Names = tuple[str, ...]


class Shards(NamedTuple):
    epoch: int
    names: Names
    is_coming: bool
    #: How it was spread before, as long as something may be left of that.
    earlier: Names | None


def epoch_in(raw: bytes) -> int:
    """The epoch of a record, as the functions see it, whatever else is in there; 0 for none."""
    found = _EPOCH.match(raw)
    return int(found[1]) if found else 0


def parse_shards(raw: bytes | None, queue: str) -> Shards | None:
    """None where there is none, or something else, or one of another queue."""
    if raw is None or not raw.startswith(b'{"epoch":'):
        return None
    try:
        record = object_of(raw, _MAX_LENGTH)
    except Unreadable:
        return None
    epoch: Any
    names: Any
    earlier: Any
    epoch, names, earlier = record.get("epoch"), record.get("names"), record.get("earlier")
    if not is_count(epoch) or epoch < 1 or not _are_names(names, queue):
        return None
    if "earlier" in record and not _are_names(earlier, queue):
        return None
    was = tuple(earlier) if "earlier" in record else None
    return Shards(int(epoch), tuple(names), record.get("coming") is True and was is not None, was)


def _are_names(value: Any, queue: str) -> bool:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_SHARDS or value[0] != queue or not is_queue_name(queue):
        return False
    return all(is_shard_of(name, queue) for name in value[1:]) and len(set(value)) == len(value)


def open_shards(shards: Shards) -> Names:
    """Those into which work is put."""
    return shards.earlier if shards.is_coming and shards.earlier else shards.names


def served_shards(shards: Shards) -> Names:
    """All that are to be served: those, too, that are none any more."""
    return tuple(dict.fromkeys([*shards.names, *(shards.earlier or ())]))


def home_of(names: Names, key: str) -> str:
    """Where the jobs of a key run."""
    return names[binascii.crc_hqx(key.encode("utf-8", "replace"), 0) % len(names)]


def former_home_of(shards: Shards, key: str) -> str | None:
    """Where jobs of a key may still wait that came before the change; None where that is where they are put now."""
    home = home_of(shards.earlier, key) if shards.earlier and not shards.is_coming else None
    return None if home == home_of(shards.names, key) else home


async def read_shards(connection: Connection, keys: Keys, queue: str) -> Shards | None:
    """Of a queue that is spread; None, too, where this user may not look: an earlier version asked for no such right."""
    if whole_queue(queue) != queue:
        return None
    try:
        return parse_shards(await connection.one("GET", keys.queue(queue).shards), queue)
    except ReplyError as error:
        if is_refusal(error):
            return None
        raise


async def note_shards(connection: Connection, keys: Keys, place: str, shards: Shards) -> None:
    """Notes it in the place of the queue or of one of its shards, unless a higher one is there."""
    record: dict[str, Any] = {"epoch": shards.epoch, "names": shards.names}
    if shards.is_coming:
        record["coming"] = True
    if shards.earlier is not None:
        record["earlier"] = shards.earlier
    await run(connection, "shard", [keys.queue(place).shards], [compact(record), ""])


async def places_of(connection: Connection, keys: Keys, queue: str) -> Names:
    """A queue, and its shards where it is spread over some."""
    shards = await read_shards(connection, keys, queue)
    return served_shards(shards) if shards else (queue,)
