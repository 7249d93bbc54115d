"""What a type checker makes of calls: tests/test_types.py has mypy read it."""

import asyncio
import concurrent.futures
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from pshub import AsyncHub, AsyncJob, Context, Hub, Job, PendingCall, Task, TaskError, TaskFailed, Worker, task
from typing_extensions import assert_type


@dataclass
class Size:
    width: int
    height: int


@task("resize:1.0", idempotent=True)
def resize(width: int, height: int, box: int = 800) -> Dict[str, int]:
    return {"width": width, "height": height}


@task("measure:1.0")
def measure(path: str, ctx: Context) -> Optional[Size]:
    assert_type(ctx.call(resize, width=1, height=2), Dict[str, int])
    assert_type(ctx.call(resize, {"width": 1, "height": 2}, timeout=0.5, queue="images"), Dict[str, int])
    assert_type(ctx.call("resize:1.0", width=1), Any)
    raise TaskError("none", code="NoSuchFile", http_status=404)


@task("sum:1.0", args={"type": "array"})
def total(args: List[int]) -> int:
    return sum(args)


@task("later:1.0")
async def later(x: int, ctx: Context) -> List[int]:
    assert_type(await ctx.acall(total, [x]), int)
    assert_type(await ctx.acall("sum:1.0", [x], timeout=1), Any)
    return [x]


def futures(hub: Hub) -> None:
    pending = hub.submit(later, x=1)
    assert_type(pending, PendingCall[List[int]])
    assert_type(pending.result(timeout=1), List[int])
    future: "concurrent.futures.Future[List[int]]" = pending
    assert_type([each.result() for each in concurrent.futures.as_completed([future])], List[List[int]])


def threads(hub: Hub) -> None:
    assert_type(hub.call(later, x=1), List[int])
    assert_type(resize, Task[Dict[str, int]])
    assert_type(resize(1, 2), Dict[str, int])
    assert_type(hub.call(resize, width=1, height=2), Dict[str, int])
    assert_type(hub.call(measure, {"path": "a"}, timeout=2), Optional[Size])
    assert_type(hub.call(total, [1, 2]), int)
    assert_type(hub.call("resize:1.0", width=1, height=2), Any)
    assert_type(hub.submit(total, [1]), PendingCall[int])
    assert_type(hub.submit(total, [1]).result(), int)
    job = hub.enqueue(total, [1], tracked=True)
    assert_type(job, Job[int])
    assert_type(job.result(timeout_ms=1000), int)
    assert_type(hub.enqueue("sum:1.0", [1]).result(), Any)
    assert_type(hub.job(job.id), Job[Any])
    try:
        hub.call(measure, path="b")
    except TaskFailed as error:
        assert_type(error.code, str)
        assert_type(error.http_status, int)
        assert_type(error.ran, str)
    Worker(tasks=[resize, measure, total], queue="images").start()


async def loop(hub: AsyncHub) -> None:
    assert_type(await hub.call(resize, width=1, height=2), Dict[str, int])
    assert_type(await hub.call("resize", width=1), Any)
    assert_type(await later(1), List[int])
    assert_type(hub.submit(later, x=1), "asyncio.Task[List[int]]")
    assert_type(await hub.submit(total, [1]), int)
    job = await hub.enqueue(total, [1])
    assert_type(job, AsyncJob[int])
    assert_type(await job.result(), int)


def wrong(hub: Hub) -> None:
    hub.call(7)  # type: ignore[call-overload]
    number: str = hub.call(total, [1])  # type: ignore[assignment]
    hub.call(total, [1], timeout="soon")  # type: ignore[call-overload]
    Hub(namespase="x")  # type: ignore[call-arg]
    Worker(tasks=[total], slots="4")  # type: ignore[arg-type]
    hub.enqueue(total, [1], priority="urgent", delay="x")  # type: ignore[call-overload]
