"""
A worker of the tasks that come as one line of JSON, ``{"tasks": {"name:1.0": <schema of its arguments>}}``, until stdin ends. With ``"zones": false``
it knows no time zone but UTC.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pshub import Task, Worker, task
from pshub.jobs import cron

given = json.loads(sys.stdin.readline())


def no_zone(name: str) -> Any:
    raise KeyError(name)


if given.get("zones") is False:
    cron.ZoneInfo = no_zone


def taker(name: str, schema: Any) -> Task:
    @task(name, args=schema)
    def take(args: Any) -> bool:
        return True

    return take


worker = Worker(tasks=[taker(name, schema) for name, schema in given["tasks"].items()])
worker.start()
print("ready", flush=True)
sys.stdin.read()
worker.stop()
