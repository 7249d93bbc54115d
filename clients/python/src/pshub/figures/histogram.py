"""Counts of durations in buckets of a sixteenth of their size: PROTOCOL.md, section 11.2."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional

from ..wire.foreign import is_count

#: Some 38 hours; larger values count as this one.
LARGEST_US = 2**37 - 1
#: Larger ones are not exact in every language.
_LARGEST_WHOLE = 2**53 - 1


def bucket_of(us: int) -> int:
    """Exact up to 31; above that 16 equal parts of each power of two."""
    shift = max(0, us.bit_length() - 5)
    return 16 * shift + (us >> shift)


def middle_of(bucket: int) -> int:
    """What stands for all values of a bucket."""
    if bucket < 32:
        return bucket
    shift = bucket // 16 - 1
    return ((bucket - 16 * shift) << shift) + (1 << (shift - 1))


class Histogram:
    __slots__ = ("counts", "max", "sum")

    def __init__(self) -> None:
        self.counts: Dict[int, int] = {}
        self.sum = 0
        self.max = 0

    def record(self, us: float) -> None:
        value = min(int(us), LARGEST_US) if us > 0 else 0
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.sum += value
        if value > self.max:
            self.max = value

    def add(self, other: "Histogram") -> None:
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.sum += other.sum
        self.max = max(self.max, other.max)

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def quantile(self, q: float) -> Optional[int]:
        count = self.count
        if count == 0:
            return None
        rank = max(1, math.ceil(q * count))
        if rank >= count:
            return self.max
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= rank:
                return min(middle_of(bucket), self.max)
        return self.max

    def to_json(self) -> Dict[str, Any]:
        flat: List[int] = []
        before = 0
        for bucket in sorted(self.counts):
            flat += [bucket - before, self.counts[bucket]]
            before = bucket
        return {"counts": flat, "sum": self.sum, "max": self.max}

    @classmethod
    def from_json(cls, value: Any) -> Optional["Histogram"]:
        """None for what is not one: it was written by others."""
        if not isinstance(value, dict):
            return None
        flat, total, largest = value.get("counts"), value.get("sum"), value.get("max")
        if not isinstance(flat, list) or len(flat) % 2 or not all(is_count(n, _LARGEST_WHOLE) for n in [*flat, total, largest]):
            return None
        histogram = cls()
        bucket = 0
        for at in range(0, len(flat), 2):
            bucket += flat[at]
            if bucket > 543 or bucket in histogram.counts or not 1 <= flat[at + 1] <= 2**40:
                return None
            histogram.counts[bucket] = flat[at + 1]
        histogram.sum, histogram.max = int(total), int(largest)
        fits = (bucket_of(histogram.max) == bucket and histogram.max <= LARGEST_US) if flat else histogram.max == 0
        return histogram if fits and histogram.sum <= histogram.max * histogram.count else None
