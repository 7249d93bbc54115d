"""The worker of clients/CONFORMANCE.md: serves its tasks until SIGTERM or the end of stdin."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from pshub import Context, TaskError, Worker, __version__, task

journal = os.environ.get("PSHUB_CONFORMANCE_JOURNAL")


def note(args: Any) -> None:
    """One line for each start, in one write, so that processes do not mix theirs."""
    if journal and isinstance(args, dict) and "token" in args:
        with open(journal, "ab", buffering=0) as file:
            file.write(f"{args['token']}\n".encode())


def wait(args: dict[str, Any], ctx: Context) -> bool:
    return ctx.aborted.wait(args.get("ms", 0) / 1000)


async def wait_async(args: dict[str, Any]) -> bool:
    """The same in a coroutine: whether it was cancelled meanwhile."""
    try:
        await asyncio.sleep(args.get("ms", 0) / 1000)
        return False
    except asyncio.CancelledError:
        return True


@task("echo:1.0", args={})
def echo(args: Any) -> Any:
    note(args)
    return args


@task("add:1.0", description="Adds two integers.")
def add(x: int, y: int) -> int:
    return x + y


@task("add:1.1", description="Adds two integers and one.")
async def add_more(x: int, y: int) -> int:
    return x + y + 1


@task("fail:1.0", args={})
def fail(args: Any) -> None:
    if isinstance(args, dict) and args.get("retryable"):
        raise TaskError("the disk is full", retryable=True, data={"disk": "sda1"})
    if isinstance(args, dict) and ("code" in args or "status" in args):
        raise TaskError("it failed", code=args.get("code"), http_status=args.get("status"))
    raise ValueError("it failed")


@task("bad_result:1.0", args={}, result={"type": "integer"})
def bad_result(args: Any) -> Any:
    return "no integer"


@task("big:1.0", args={})
def big(args: Any) -> str:
    return "x" * args["length"]


@task("slow:1.0", args={}, timeout=20)
def slow(args: Any, ctx: Context) -> dict[str, Any]:
    note(args)
    return {"aborted": wait(args, ctx)}


@task("again:1.0", args={}, timeout=20, idempotent=True)
async def again(args: Any) -> dict[str, Any]:
    note(args)
    return {"aborted": await wait_async(args), "pid": os.getpid()}


@task("deaf:1.0", args={}, timeout=20)
def deaf(args: Any) -> dict[str, Any]:
    note(args)
    time.sleep(args["ms"] / 1000)
    return {}


@task("flaky:1.0", args={}, backoff=10)
def flaky(args: Any, ctx: Context) -> dict[str, Any]:
    note(args)
    if ctx.attempt <= args["fails"]:
        raise ValueError(f"try {ctx.attempt} {{failed}}")
    return {"attempt": ctx.attempt, "pid": os.getpid()}


def in_line(args: Any, ctx: Context) -> dict[str, Any]:
    """Of jobs with a key."""
    note(args)
    wait(args, ctx)
    if "token" in args:
        note({"token": f"{args['token']} ended"})
    if ctx.attempt <= args.get("fails", 0):
        raise ValueError(f"try {ctx.attempt} {{failed}}")
    return {"attempt": ctx.attempt, "fence": ctx.fence}


ordered = task("ordered:1.0", args={}, keyed="ordered", backoff=100)(in_line)
passing = task("passing:1.0", args={}, keyed="ordered", on_failure="pass", backoff=100)(in_line)


@task("merged:1.0", args={}, keyed="merged", batch=3, backoff=100)
async def merged(by_key: dict[str, list[Any]], ctx: Context) -> None:
    """One line for each run, ``<key>=<tokens>`` of each of its keys."""
    note({"token": " ".join(f"{key}={','.join(each['token'] for each in own)}" for key, own in by_key.items())})
    payloads = [payload for own in by_key.values() for payload in own]
    await wait_async({"ms": max(payload.get("ms", 0) for payload in payloads)})
    if any(ctx.attempt <= payload.get("fails", 0) for payload in payloads):
        raise ValueError(f"try {ctx.attempt} {{failed}}")


@task("nested:1.0", args={}, timeout=20)
async def nested(args: Any, ctx: Context) -> Any:
    if args["depth"] > 0:
        return await ctx.acall("nested:1.0", {**args, "depth": args["depth"] - 1})
    await wait_async(args)
    return {"left_ms": ctx.remaining * 1000}


@task("yields:1.0", timeout=20)
def yields(ctx: Context, count: int, ms: float = 0, code: str | None = None, progress: bool = False) -> Iterator[int]:
    if progress:
        ctx.progress(1, 2, "half")
    for n in range(1, count + 1):
        yield n
        if ms:
            ctx.aborted.wait(ms / 1000)
    if code:
        raise TaskError("it failed", code=code)


@task("bad_chunk:1.0", yields={"type": "integer"})
def bad_chunk() -> Iterator[Any]:
    yield 1
    yield "no integer"


def main() -> None:
    # Everything else is in the environment: PSHUB_REDIS, PSHUB_QUEUE, PSHUB_SLOTS ...
    tasks = [
        echo, add, add_more, fail, bad_result, big, slow, again, deaf, flaky, ordered, passing, merged, nested, yields, bad_chunk,
    ]  # fmt: skip
    worker = Worker(tasks=tasks)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    worker.start()
    print(json.dumps({"ready": True, "client": f"pshub-python/{__version__}", "pid": os.getpid()}), flush=True)

    def watch() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=watch, daemon=True).start()
    while not ended.wait(0.5):
        pass
    worker.stop()
    # A handler that was given up must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
