"""Some workers of the project's fault suite for jobs (test/fault/jobs), with tasks that write down what they ran."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from typing import Any

from pshub import Context, Worker, task
from pshub.outlets.log import log_to_stderr

setup = json.loads(os.environ["PSHUB_JOBS_SETUP"])
_file = os.open(setup["journal"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
_lock = threading.Lock()
_runs = 0


def note(e: str, **fields: Any) -> None:
    os.write(_file, f"{json.dumps({'e': e, **fields, 'at': int(time.time() * 1000)})}\n".encode())


def misbehave(act: str, ms: float, ctx: Context) -> None:
    if act == "block":
        end = time.monotonic() + ms / 1000
        while time.monotonic() < end:
            pass
    elif act == "throw":
        raise ValueError("raised on purpose")
    elif act == "never":
        ctx.aborted.wait()
        raise ValueError("told to stop")
    elif act == "exit":
        os._exit(3)


def handle(args: Any, ctx: Context) -> dict[str, str]:
    """``fails``: so many tries; ``before``: what the step before it returned; ``act``: what it does to its worker."""
    global _runs
    with _lock:
        _runs += 1
        run = f"{setup['name']}/{_runs}"
    told = {"id": ctx.id, "token": args.get("token"), "run": run}
    before = args.get("before")
    of_key = {"key": args["key"], "n": args["n"], "fence": ctx.fence} if "key" in args else {}
    note("start", **told, **of_key, **({"before": before["run"]} if before else {}))
    try:
        if args.get("act"):
            misbehave(args["act"], args.get("ms", 1), ctx)
        if ctx.aborted.wait(args.get("ms", 1) / 1000):
            raise ValueError("told to stop")
        if ctx.attempt <= args.get("fails", 0):
            raise ValueError("not yet {")
        note("end", **told)
        return {"run": run}
    finally:
        if of_key:
            note("stop", **told)


@task(f"{setup['queue']}-work:1.0", args={}, retries=8, backoff=50, job_timeout_ms=15_000)
def work(args: Any, ctx: Context) -> Any:
    return handle(args, ctx)


@task(f"{setup['queue']}-acts:1.0", args={}, retries=2, backoff=50, job_timeout_ms=2000)
def acts(args: Any, ctx: Context) -> Any:
    return handle(args, ctx)


@task(f"{setup['queue']}-keyed:1.0", args={}, keyed="ordered", retries=8, backoff=50, job_timeout_ms=15_000)
def keyed(args: Any, ctx: Context) -> Any:
    return handle(args, ctx)


def merged_handler(by_key: dict[str, list[Any]], ctx: Context) -> None:
    """``ms``: how long it takes; ``fails``: how likely it fails. A run takes as long as the slowest of its payloads."""
    global _runs
    with _lock:
        _runs += 1
        run = f"{setup['name']}/{_runs}"
    payloads = [payload for each in by_key.values() for payload in each]
    keys = [[key, [payload["n"] for payload in each]] for key, each in by_key.items()]
    note("merged", run=run, keys=keys, fence=ctx.fence)
    is_done = False
    try:
        if ctx.aborted.wait(max(payload["ms"] for payload in payloads) / 1000):
            raise ValueError("told to stop")
        if any(random.random() < payload.get("fails", 0) for payload in payloads):
            raise ValueError("not yet {")
        is_done = True
    finally:
        note("merged-stop", run=run, isDone=is_done)


merged = task(
    f"{setup['queue']}-merged:1.0",
    args={},
    keyed="merged",
    batch=3,
    max_payloads=20,
    retries=8,
    backoff=50,
    job_timeout_ms=15_000,
)(merged_handler)

# Those of schedules.
scheduled = [
    task(f"{setup['queue']}-{name}:1.0", args={}, retries=8, backoff=50, job_timeout_ms=15_000)(handle)
    for name in ("once", "skip")
]


def main() -> None:
    log_to_stderr("silent")
    options: dict[str, Any] = {"queue": setup["queue"], "slots": 8, "job_slots": 8, "lease": 2}
    if "graceMs" in setup:
        options["grace"] = setup["graceMs"] / 1000
    workers = [Worker(setup["redis"], tasks=[work, acts, keyed, merged, *scheduled], **options) for _ in range(setup["workers"])]
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
