"""
A worker of the project's fault suite (test/fault): its tasks write down when they start and end, and misbehave when told to. Of each task
every other worker has a handler that is a coroutine, and the others a function.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from typing import Any

from pshub import ConfigError, Context, Worker, task
from pshub.outlets.log import log_to_stderr

setup = json.loads(os.environ["PSHUB_FAULT_SETUP"])
_file = os.open(os.path.join(setup["folder"], f"{setup['name']}.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
_lock = threading.Lock()
_runs = 0
_LAG_S = 0.02


def journal(e: str, **fields: Any) -> None:
    """Written at once, on the clock that all processes of a machine share, so that a killed process has told all it knew."""
    line = json.dumps({"e": e, "t": time.monotonic_ns() // 1000, **fields})
    os.write(_file, f"{line}\n".encode())


def watch_lag() -> None:
    """Writes down when this process got no processor: what is late by that is not late by pshub's fault."""
    last = time.monotonic()
    while True:
        time.sleep(_LAG_S)
        now = time.monotonic()
        lag_ms = (now - last - _LAG_S) * 1000
        last = now
        if lag_ms > 10:
            journal("lag", ms=round(lag_ms))


def misbehave(act: dict[str, Any], run: dict[str, str], digest: str) -> dict[str, Any] | None:
    """What the handler returns; None: it goes on as usual."""
    what = act["do"]
    if what == "block":
        end = time.monotonic() + act["ms"] / 1000
        while time.monotonic() < end:
            pass
    elif what == "big":
        journal("end", **run)
        return {**run, "hash": digest, "filler": "x" * act["chars"]}
    elif what in ("throw", "reject"):
        journal("end", **run)
        raise ValueError("raised on purpose") if what == "throw" else ValueError()
    elif what in ("exit", "stray"):
        os._exit(3)
    elif what == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    return None


class Run:
    """One run of a handler. ``over``: what it returns at once; ``never``: whether it does not return at all."""

    def __init__(self, args: Any, ctx: Context) -> None:
        global _runs
        # Also of what was pushed by hand, which may be anything.
        given = args if isinstance(args, dict) else {}
        with _lock:
            _runs += 1
            number = _runs
        self.told = {"token": given.get("token", "hand-pushed"), "run": f"{setup['name']}/{number}"}
        self.seconds = given.get("ms", 1) / 1000
        request = ctx._request
        journal("start", **self.told, worker=worker.id, atUs=request.at_us, ttlMs=request.ttl_ms)
        digest = hashlib.sha1(str(given.get("pad", "")).encode()).hexdigest()
        act = given.get("act") or {"do": "nothing"}
        self.never = act["do"] == "never"
        self.over = misbehave(act, self.told, digest)
        self.result = {**self.told, "hash": digest}


def handle(args: Any, ctx: Context) -> dict[str, Any]:
    run = Run(args, ctx)
    if run.over is not None:
        return run.over
    journal("abort" if ctx.aborted.wait(None if run.never else run.seconds) else "end", **run.told)
    if run.never:
        threading.Event().wait()
    return run.result


async def handle_async(args: Any, ctx: Context) -> dict[str, Any]:
    run = Run(args, ctx)
    if run.over is not None:
        return run.over
    try:
        await (asyncio.Event().wait() if run.never else asyncio.sleep(run.seconds))
    except asyncio.CancelledError:
        journal("abort", **run.told)
        if not run.never:
            raise
        await asyncio.Event().wait()
    journal("end", **run.told)
    return run.result


class Chunks:
    """One run of a handler that yields."""

    def __init__(self, args: Any, ctx: Context) -> None:
        global _runs
        with _lock:
            _runs += 1
            number = _runs
        self.told = {"token": args["token"], "run": f"{setup['name']}/{number}"}
        self.first, self.every = args.get("firstMs", 0) / 1000, args["everyMs"] / 1000
        self.count, self.yielded = args["count"], 0
        self.ctx = ctx
        request = ctx._request
        journal("start", **self.told, worker=worker.id, atUs=request.at_us, ttlMs=request.ttl_ms)
        self.result = {**self.told, "hash": hashlib.sha1(str(args["pad"]).encode()).hexdigest()}

    def more(self) -> bool:
        return self.yielded < self.count and not self.ctx.aborted.is_set()

    def next(self) -> dict[str, Any]:
        self.yielded += 1
        return {"token": self.told["token"], "n": self.yielded}

    def end(self) -> None:
        journal("abort" if self.ctx.aborted.is_set() else "end", **self.told, yielded=self.yielded)


def stream(args: Any, ctx: Context) -> Generator[dict[str, Any], None, dict[str, Any]]:
    run = Chunks(args, ctx)
    try:
        ctx.aborted.wait(run.first)
        while run.more():
            yield run.next()
            if run.every:
                ctx.aborted.wait(run.every)
        return run.result
    finally:
        run.end()


_handlers: list[Any] = [handle, handle_async]
if sum(setup["name"].encode()) % 2:
    _handlers.reverse()
once = task("once:1.0", args={}, result={})(_handlers[0])
again = task("again:1.0", args={}, result={}, idempotent=True)(_handlers[1])
chunks = task("chunks:1.0", args={}, result={}, idempotent=True)(stream)


_NAMES = {"maxPayloadBytes": "max_payload_bytes", "maxBacklog": "max_backlog", "slots": "slots"}
options = {_NAMES[name]: value for name, value in (setup.get("options") or {}).items() if name in _NAMES}
if "leaseMs" in (setup.get("options") or {}):
    options["lease"] = setup["options"]["leaseMs"] / 1000
worker = Worker(setup["redis"], queue="q", tasks=[once, again, chunks], **options)
worker.events.on("redis:up", lambda event: journal("up", role=event["role"]))
worker.events.on("lease:lost", lambda event: journal("lease-lost", worker=event["worker"], now=worker.id))
worker.events.on("worker:lost", lambda event: journal("adopted", worker=event["worker"], count=event["adopted"]))


def main() -> None:
    log_to_stderr("warning")
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    threading.Thread(target=watch_lag, daemon=True).start()

    def watch() -> None:
        # The stage is gone: nobody would ever end this process.
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        worker.start()
        journal("hello", pid=os.getpid(), worker=worker.id, slots=worker._settings.slots)
        while not ended.wait(0.2):
            pass
        grace_ms = setup.get("graceMs")
        worker.stop(None if grace_ms is None else grace_ms / 1000)
    except ConfigError as error:
        journal("refused", message=str(error))
    journal("left", resources=[])
    os._exit(0)


if __name__ == "__main__":
    main()
