"""Counts of durations in buckets of a sixteenth of their size: PROTOCOL.md, section 11.2."""

from __future__ import annotations

from typing import Any

#: Some 38 hours; larger values count as this one.
LARGEST_US = 2**37 - 1


def bucket_of(us: int) -> int:
    """Exact up to 31; above that 16 equal parts of each power of two."""
    shift = max(0, us.bit_length() - 5)
    return 16 * shift + (us >> shift)


class Histogram:
    __slots__ = ("counts", "max", "sum")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.sum = 0
        self.max = 0

    def record(self, us: float) -> None:
        value = min(int(us), LARGEST_US) if us > 0 else 0
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.sum += value
        if value > self.max:
            self.max = value

    def add(self, other: Histogram) -> None:
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.sum += other.sum
        self.max = max(self.max, other.max)

    def to_json(self) -> dict[str, Any]:
        flat: list[int] = []
        before = 0
        for bucket in sorted(self.counts):
            flat += [bucket - before, self.counts[bucket]]
            before = bucket
        return {"counts": flat, "sum": self.sum, "max": self.max}
