"""Changes over which shards a queue is spread, as ``pshub shards`` does, and what is left of how it was."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from conftest import eventually
from pshub.queue.shards import Shards, home_of, served_shards

#: Hubs put work for two seconds where they last knew that it belongs.
_QUIET_S = 3.0
_LINE = re.compile(r"pshub:\{(.+?)\}:line:[^:]+:[^:]+:(.+)", re.DOTALL)

#: Who has a key: a client of redis-py.
At = Callable[[str], Any]


class Run(NamedTuple):
    key: str
    n: int
    begun: float
    ended: float


def spread(at: At, epoch: int, names: Sequence[str], earlier: Sequence[str] | None = None, is_coming: bool = False) -> None:
    """In all places, from one step to the next."""
    record: dict[str, Any] = {"epoch": epoch, "names": list(names)}
    if is_coming:
        record["coming"] = True
    if earlier is not None:
        record["earlier"] = list(earlier)
    text = json.dumps(record, separators=(",", ":"))
    for name in served_shards(Shards(epoch, tuple(names), is_coming, None if earlier is None else tuple(earlier))):
        key = f"pshub:{{{name}}}:shards"
        at(key).fcall("pshub_1_shard", 1, key, text, "")


def change(at: At, lines: Callable[[], Iterable[str]], epoch: int, names: Sequence[str], earlier: Sequence[str]) -> None:
    """All three steps, the last one when nothing has been left of what was before for a while."""
    spread(at, epoch, names, earlier, is_coming=True)
    spread(at, epoch + 1, names, earlier)
    quiet_since = time.monotonic()

    def is_over() -> bool:
        nonlocal quiet_since
        found = [match.groups() for match in map(_LINE.fullmatch, lines()) if match]
        if any(home_of(tuple(names), key) != place for place, key in found):
            quiet_since = time.monotonic()
        return time.monotonic() - quiet_since > _QUIET_S

    eventually(is_over, "an end of what was")
    spread(at, epoch + 2, names)


def check_order(counts: dict[str, int], runs: list[Run]) -> None:
    """Each key's jobs ran once, in their order, one at a time."""
    for key, count in counts.items():
        own = [run for run in runs if run.key == key]
        assert [run.n for run in own] == list(range(count)), key
        assert all(before.ended <= after.begun for before, after in zip(own, own[1:])), key
    assert len(runs) == sum(counts.values())
