"""What the tests' worker processes serve."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from pshub import task
from waits import adelay, delay


@task("add:1.0")
def add(x: int, y: int = 2) -> int:
    """Adds two numbers."""
    return x + y


@task("stubborn:1.0")
def stubborn(ms: float) -> str:
    """Does not look whether it was told to stop."""
    delay(ms / 1000, "the handler is busy")
    return "done"


@task("again:1.0", idempotent=True)
def again(ms: float) -> int:
    delay(ms / 1000, "the handler is busy")
    return os.getpid()


@task("first_hangs:1.0", idempotent=True, timeout=60)
def first_hangs(mark: str) -> int:
    """The first run for this mark, which is the path of a file, lasts until its process ends; the next one answers at once."""
    if not Path(mark).exists():
        Path(mark).touch()
        delay(600, "until this process ends")
    return os.getpid()


@task("rest:1.0", timeout=20)
async def rest(s: float) -> int:
    await adelay(s, "the handler is busy")
    return os.getpid()


@task("rest_again:1.0", idempotent=True, timeout=20)
async def rest_again(s: float) -> int:
    await adelay(s, "the handler is busy")
    return os.getpid()


@task("busy:1.0")
def busy(ms: float) -> int:
    """Computes in Python without a pause."""
    end = time.monotonic() + ms / 1000
    count = 0
    while time.monotonic() < end:
        count += 1
    return count


@task("ticks:1.0", timeout=60, idempotent=True)
def ticks() -> Iterator[int]:
    n = 0
    while True:
        n += 1
        yield n
        delay(0.05, "a stream that takes a while")
