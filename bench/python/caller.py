"""Keeps a number of calls in flight for a while. python caller.py <system> <in flight> <seconds>; prints one line of JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from typing import Any, Callable, List, Tuple

Call = Callable[[int], Any]


def by_threads(call: Call, in_flight: int, seconds: float) -> List[float]:
    """Each thread waits for its result before it calls again."""
    waits: List[float] = []
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < end:
            begun = time.perf_counter()
            assert call(number) == number + 2
            waits.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waits


def by_bursts(start: Call, end_of: Callable[[Any], Any], in_flight: int, seconds: float) -> List[float]:
    """One thread starts all of them, then waits for all of them."""
    waits: List[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        started = [start(number) for number in range(in_flight)]
        assert [end_of(each) for each in started] == [number + 2 for number in range(in_flight)]
        waits += [time.perf_counter() - begun] * in_flight
    return waits


async def by_tasks(hub: Any, in_flight: int, seconds: float) -> List[float]:
    waits: List[float] = []
    end = time.perf_counter() + seconds

    async def work(number: int) -> None:
        while time.perf_counter() < end:
            begun = time.perf_counter()
            assert await hub.call("add:1.0", x=number) == number + 2
            waits.append(time.perf_counter() - begun)

    await asyncio.gather(*(work(number) for number in range(in_flight)))
    return waits


def measured(system: str, in_flight: int, seconds: float) -> List[float]:
    url = os.environ["BENCH_REDIS"]
    if system.startswith("celery"):
        from celery_tasks import add

        add.delay(0).get(timeout=20)
        if system == "celery-threads":
            return by_threads(lambda x: add.delay(x).get(timeout=20), in_flight, seconds)
        return by_bursts(add.delay, lambda result: result.get(timeout=20), in_flight, seconds)
    from pshub import AsyncHub, Hub

    if system == "pshub-asyncio":

        async def main() -> List[float]:
            async with AsyncHub(url) as hub:
                await hub.call("add:1.0", x=0)
                return await by_tasks(hub, in_flight, seconds)

        return asyncio.run(main())
    with Hub(url) as hub:
        hub.call("add:1.0", x=0)
        if system == "pshub-threads":
            return by_threads(lambda x: hub.call("add:1.0", x=x), in_flight, seconds)
        return by_bursts(lambda x: hub.submit("add:1.0", x=x), lambda each: each.result(), in_flight, seconds)


def main(arguments: Tuple[str, ...]) -> None:
    system, in_flight, seconds = arguments[0], int(arguments[1]), float(arguments[2])
    begun = time.perf_counter()
    waits = measured(system, in_flight, seconds)
    took = min(time.perf_counter() - begun, seconds)
    waits.sort()
    print(json.dumps({"perSecond": len(waits) / took, "p50Ms": waits[len(waits) // 2] * 1000, "calls": len(waits)}))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
