"""Metrics as a StatsD daemon gets them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


class Metric(NamedTuple):
    name: str
    #: Of a timing the values are milliseconds.
    type: str
    #: In the order in which a line has them.
    tags: tuple[str, ...]


def _metric(name: str, type: str, *tags: str) -> Metric:
    return Metric(name, type, tags)


#: Every metric there is; nobody else writes a name. clients/vectors/statsd.json has the same table, and those of the npm package alone.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _metric("call.time", "timing", "task"),
        _metric("call.ok", "counter", "task"),
        _metric("call.failed", "counter", "task", "code"),
        _metric("call.rejected", "counter", "task", "code"),
        _metric("call.retried", "counter", "task", "code"),
        _metric("call.late_reply", "counter"),
        _metric("queue.backlog_wait", "timing", "queue", "task"),
        _metric("worker.queue_wait", "timing", "queue", "task"),
        _metric("worker.exec", "timing", "queue", "task"),
        _metric("worker.failed", "counter", "queue", "task", "code"),
        _metric("worker.rejected", "counter", "queue", "task", "code"),
        _metric("worker.malformed", "counter", "queue"),
        _metric("worker.task_elsewhere", "counter", "queue", "task"),
        _metric("worker.adopted", "counter", "queue"),
        _metric("worker.redelivered", "counter", "queue", "task"),
        _metric("job.lateness", "timing", "queue", "task"),
        _metric("job.key_wait", "timing", "queue", "task"),
        _metric("job.enqueued", "counter", "queue"),
        _metric("job.retried", "counter", "queue", "task", "code"),
        _metric("job.put_off", "counter", "queue", "task"),
        _metric("job.dead", "counter", "queue", "task"),
        _metric("job.schedule", "counter", "queue", "task"),
        _metric("worker.busy", "gauge", "queue", "worker"),
        _metric("worker.slots", "gauge", "queue", "worker"),
    )
}

_TYPES = {"timing": "ms", "counter": "c", "gauge": "g"}
#: What ends a tag, a line or a field, control characters and all that Unicode calls a separator; a colon may stay.
_UNSAFE = re.compile("[|,#@\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def line_of(metric: str, value: float, details: Mapping[str, Any], name: str) -> str:
    """``details`` are those of an event, of which a metric takes its tags, as DogStatsD reads them; ``name`` is that of the hub or worker."""
    known = METRICS[metric]
    tags = {tag: details.get(tag) for tag in known.tags} | {"name": name}
    shown = ",".join(f"{tag}:{_UNSAFE.sub('_', str(each))}" for tag, each in tags.items() if each is not None)
    return f"pshub.{metric}:{_number(value)}|{_TYPES[known.type]}|#{shown}"


def _number(value: float) -> str:
    """Microseconds are all that there is to tell."""
    rounded = math.floor(value * 1000 + 0.5) / 1000
    return str(int(rounded) if rounded.is_integer() else rounded)
