"""
Some workers of the project's fault suite for jobs (test/fault/jobs), with tasks that write down what they ran. The handlers of every
other worker are coroutines, those of the others functions.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pshub import Context, Worker, task
from pshub.outlets.log import log_to_stderr

setup = json.loads(os.environ["PSHUB_JOBS_SETUP"])
_file = os.open(setup["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
_lock = threading.Lock()
_runs = 0


def note(e: str, **fields: Any) -> None:
    os.write(_file, f"{json.dumps({'e': e, **fields, 'at': int(time.time() * 1000)})}\n".encode())


def misbehave(act: str, ms: float) -> None:
    if act == "block":
        end = time.monotonic() + ms / 1000
        while time.monotonic() < end:
            pass
    elif act == "throw":
        raise ValueError("raised on purpose")
    elif act == "exit":
        os._exit(3)


def numbered() -> str:
    global _runs
    with _lock:
        _runs += 1
        return f"{setup['name']}/{_runs}"


@contextmanager
def running(args: Any, ctx: Context) -> Iterator[tuple[dict[str, Any], float | None]]:
    """
    One run: what it tells, and for how many seconds it goes on, None for ever. ``fails``: so many tries; ``before``: what the step before
    it returned; ``act``: what it does to its worker.
    """
    told = {"id": ctx.id, "token": args.get("token"), "run": numbered()}
    before = args.get("before")
    of_key = {"key": args["key"], "n": args["n"], "fence": ctx.fence} if "key" in args else {}
    note("start", **told, **of_key, **({"before": before["run"]} if before else {}))
    try:
        act, ms = args.get("act"), args.get("ms", 1)
        if act:
            misbehave(act, ms)
        yield told, None if act == "never" else ms / 1000
        if ctx.attempt <= args.get("fails", 0):
            raise ValueError("not yet {")
        note("end", **told)
    finally:
        if of_key:
            note("stop", **told)


def handle(args: Any, ctx: Context) -> dict[str, str]:
    with running(args, ctx) as (told, seconds):
        if ctx.aborted.wait(seconds):
            raise ValueError("told to stop")
    return {"run": told["run"]}


async def handle_async(args: Any, ctx: Context) -> dict[str, str]:
    with running(args, ctx) as (told, seconds):
        await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
    return {"run": told["run"]}


@contextmanager
def running_merged(by_key: dict[str, list[Any]], ctx: Context) -> Iterator[float]:
    """``ms``: how long it takes; ``fails``: how likely it fails. A run takes as long as the slowest of its payloads."""
    run = numbered()
    payloads = [payload for each in by_key.values() for payload in each]
    keys = [[key, [payload["n"] for payload in each]] for key, each in by_key.items()]
    note("merged", run=run, keys=keys, fence=ctx.fence)
    is_done = False
    try:
        yield max(payload["ms"] for payload in payloads) / 1000
        if any(random.random() < payload.get("fails", 0) for payload in payloads):
            raise ValueError("not yet {")
        is_done = True
    finally:
        note("merged-stop", run=run, isDone=is_done)


def handle_merged(by_key: dict[str, list[Any]], ctx: Context) -> None:
    with running_merged(by_key, ctx) as seconds:
        if ctx.aborted.wait(seconds):
            raise ValueError("told to stop")


async def handle_merged_async(by_key: dict[str, list[Any]], ctx: Context) -> None:
    with running_merged(by_key, ctx) as seconds:
        await asyncio.sleep(seconds)


def tasks_of(handler: Any, merged_handler: Any) -> list[Any]:
    """The same tasks with these handlers. The last ones are those of schedules."""
    often: Any = {"args": {}, "retries": 8, "backoff": 50, "job_timeout_ms": 15_000}
    queue = setup["queue"]
    return [
        task(f"{queue}-work:1.0", **often)(handler),
        task(f"{queue}-acts:1.0", args={}, retries=2, backoff=50, job_timeout_ms=2000)(handler),
        task(f"{queue}-keyed:1.0", keyed="ordered", **often)(handler),
        task(f"{queue}-merged:1.0", keyed="merged", batch=3, max_payloads=20, **often)(merged_handler),
        *(task(f"{queue}-{name}:1.0", **often)(handler) for name in ("once", "skip")),
    ]


def main() -> None:
    log_to_stderr("silent")
    options: dict[str, Any] = {"queue": setup["queue"], "slots": 8, "job_slots": 8, "lease": setup["leaseMs"] / 1000}
    if "graceMs" in setup:
        options["grace"] = setup["graceMs"] / 1000
    kinds = [tasks_of(handle, handle_merged), tasks_of(handle_async, handle_merged_async)]
    workers = [Worker(setup["redis"], tasks=kinds[number % 2], **options) for number in range(setup["workers"])]
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())

    def watch() -> None:
        # The stage is gone: nobody would ever end this process.
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    for worker in workers:
        worker.start()
    print("ready", flush=True)
    while not ended.wait(0.2):
        pass
    stopping = [threading.Thread(target=worker.stop) for worker in workers]
    for each in stopping:
        each.start()
    for each in stopping:
        each.join()
    os._exit(0)


if __name__ == "__main__":
    main()
