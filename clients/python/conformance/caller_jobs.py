"""What the caller of clients/CONFORMANCE.md does with jobs."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Tuple

from pshub import Hub, HubError, Job
from pshub.wire.payload import encode_payload

Order = Dict[str, Any]


def _entry_of(order: Order) -> Tuple[Any, Any, Dict[str, Any]]:
    return order["task"], json.loads(order["args"]), order.get("options") or {}


def _job_of(hub: Hub, order: Order) -> Job:
    return hub.job(order["job"], queue=order.get("queue"))


def _enqueue(hub: Hub, order: Order) -> Order:
    task, args, options = _entry_of(order)
    job = hub.enqueue(task, args, **options)
    return {"job": job.id, "queue": job.queue, "task": job.task, "twin": job.is_twin}


def _chain(hub: Hub, order: Order) -> Order:
    chain = hub.chain([_entry_of(each) for each in order["entries"]])
    return {"job": chain.id, "jobs": [step.id for step in chain.steps]}


def _batch(hub: Hub, order: Order) -> Order:
    behind = {name: _entry_of(order[name]) for name in ("then", "failed") if order.get(name)}
    batch = hub.batch([_entry_of(each) for each in order["entries"]], **behind)
    return {"jobs": batch.ids, "after": batch.after and batch.after.id, "failed": batch.failed and batch.failed.id}


def _status(hub: Hub, order: Order) -> Order:
    status = _job_of(hub, order).status()
    return {"state": status.state, "tries": status.tries, "code": status.error and status.error["code"]}


def _result(hub: Hub, order: Order) -> Order:
    return {"result": encode_payload(_job_of(hub, order).result(order["timeout_ms"]))}


def _key(hub: Hub, order: Order) -> Order:
    status = hub.key(order["task"], order["key"], queue=order.get("queue")).status()
    return {"queue": status.queue, "state": status.state, "waiting": status.waiting}


def _dead(hub: Hub, order: Order) -> Order:
    dead = hub.dead(order["queue"]).list()
    return {
        "dead": [
            {"job": job.id, "task": job.task, "args": encode_payload(job.args), "tries": job.tries, "following": job.following,
             "codes": [error["code"] for error in job.errors]}
            for job in dead
        ]
    }  # fmt: skip


def _retry(hub: Hub, order: Order) -> Order:
    given = {"args": json.loads(order["args"])} if "args" in order else {}
    return {"count": hub.dead(order["queue"]).retry(ids=order["ids"], **given)}


def _schedule(hub: Hub, order: Order) -> Order:
    task, args, options = _entry_of(order)
    return {"next_ms": hub.schedule(order["name"], order["times"], task, args, **options).next_ms}


def _schedules(hub: Hub, order: Order) -> Order:
    found = hub.schedules(order["queue"]).list()
    return {"schedules": [{"name": each.name, "cron": each.cron, "next_ms": each.next_ms} for each in found]}


_ORDERS: Dict[str, Callable[[Hub, Order], Order]] = {
    "enqueue": _enqueue,
    "chain": _chain,
    "batch": _batch,
    "status": _status,
    "result": _result,
    "cancel": lambda hub, order: {"cancelled": _job_of(hub, order).cancel()},
    "key": _key,
    "dead": _dead,
    "retry": _retry,
    "schedule": _schedule,
    "schedules": _schedules,
    "unschedule": lambda hub, order: {"removed": hub.schedules(order["queue"]).remove(order["name"])},
}


def do_jobs(hub: Hub, order: Order) -> Order:
    try:
        return {"ok": True, **_ORDERS[order["do"]](hub, order)}
    except HubError as error:
        told = {"code": error.code, "ran": error.ran, "retryable": error.retryable, "status": error.http_status}
        return {"ok": False, "error": {**told, "message": error.message, "data": error.data}}
