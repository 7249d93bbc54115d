"""The caller of clients/CONFORMANCE.md: orders on stdin, answers on stdout, one JSON object per line."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from caller_jobs import do_jobs

from pshub import Hub, HubError, PendingCall, __version__
from pshub.wire.payload import encode_payload

lock = threading.Lock()
pending: dict[Any, PendingCall] = {}


def say(**answer: Any) -> None:
    with lock:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def outcome_of(call: PendingCall) -> dict[str, Any]:
    outcome = call.outcome()
    if outcome.ok:
        return {"ok": True, "result": encode_payload(outcome.value), "ms": outcome.ms}
    error = outcome.error
    assert error is not None
    told = {"code": error.code, "ran": error.ran, "retryable": error.retryable, "status": error.http_status}
    return {"ok": False, "error": {**told, "message": error.message, "data": error.data}, "ms": outcome.ms}


def start(hub: Hub, order: dict[str, Any], args: str, told: list[Any] | None = None) -> PendingCall:
    timeout_ms = order.get("timeout_ms")
    timeout = None if timeout_ms is None else timeout_ms / 1000
    on_progress = None if told is None else told.append
    return hub.submit(order["task"], json.loads(args), timeout=timeout, traceparent=order.get("traceparent"), on_progress=on_progress)


def progress_text(told: list[Any]) -> str:
    return json.dumps([each._asdict() for each in told])


def read(hub: Hub, order: dict[str, Any]) -> dict[str, Any]:
    chunks: list[Any] = []
    told: list[Any] = []
    timeout_ms = order.get("timeout_ms")
    timeout = None if timeout_ms is None else timeout_ms / 1000
    on_progress = told.append if order.get("progress") else None
    pause, rest = (order.get(name, 0) / 1000 for name in ("pause_ms", "rest_ms"))
    outcome: dict[str, Any] = {"ok": True}
    try:
        stream = hub.stream(order["task"], json.loads(order["args"]), timeout=timeout, on_progress=on_progress)
        time.sleep(pause)
        for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == order.get("take"):
                break
            time.sleep(rest if rest and len(chunks) == 1 else pause)
        else:
            outcome["result"] = encode_payload(stream.result)
    except HubError as error:
        outcome = {"ok": False, "error": {"code": error.code, "ran": error.ran, "message": error.message}}
    return {**outcome, "chunks": json.dumps(chunks), "progress": progress_text(told)}


def tell(id: Any, call: PendingCall, told: list[Any] | None) -> None:
    outcome = outcome_of(call)
    say(id=id, **outcome, **({} if told is None else {"progress": progress_text(told)}))
    pending.pop(id, None)


def main() -> None:
    # Everything else is in the environment: PSHUB_REDIS, PSHUB_NAMESPACE, PSHUB_NAME ...
    hub = Hub()
    say(ready=True, client=f"pshub-python/{__version__}")
    for line in sys.stdin:
        order = json.loads(line)
        id, op = order["id"], order["op"]
        if op == "call":
            told: list[Any] | None = [] if order.get("progress") else None
            call = pending[id] = start(hub, order, order["args"], told)
            threading.Thread(target=tell, args=(id, call, told)).start()
        elif op == "batch":
            calls = [start(hub, order, args) for args in order["args"]]
            threading.Thread(target=lambda id, calls: say(id=id, outcomes=[outcome_of(c) for c in calls]),
                             args=(id, calls)).start()  # fmt: skip
        elif op == "cancel":
            call = pending.get(order["call"])
            if call is not None:
                call.cancel()
            say(id=id)
        elif op == "stream":
            threading.Thread(target=lambda id, order: say(id=id, **read(hub, order)), args=(id, order)).start()
        elif op == "jobs":
            threading.Thread(target=lambda id, order: say(id=id, **do_jobs(hub, order)), args=(id, order)).start()
        elif op == "close":
            hub.close()
            say(id=id)
    hub.close()


if __name__ == "__main__":
    main()
