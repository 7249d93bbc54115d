"""What goes in one write or one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

#: What one answer or one write may hold, but for a single message that is larger: on a slow link more of it comes too late.
MAX_BATCH_BYTES = 1_000_000
#: So many entries go in one write at the most.
MAX_COUNT = 256

T = TypeVar("T")


def batches_of(entries: Iterable[T], size_of: Callable[[T], float]) -> Iterator[list[T]]:
    """Divides what is sent together: neither more than 256 entries nor much more than a megabyte goes in one write."""
    batch: list[T] = []
    size = 0.0
    for entry in entries:
        own = size_of(entry)
        if len(batch) == MAX_COUNT or (batch and size + own > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0.0
        batch.append(entry)
        size += own
    if batch:
        yield batch
