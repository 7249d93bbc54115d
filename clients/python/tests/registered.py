"""A worker whose task is in several queues, and what it tells."""

from __future__ import annotations

from typing import Any

from conftest import Server
from pshub import Context, Worker, task

TASKS, WORKERS, STATS = "pshub:tasks", "pshub:workers", "pshub:stats"


class Started:
    def __init__(self, server: Server, queue: str) -> None:
        @task("where:1.0")
        def where() -> str:
            return queue

        @task(f"outer-{queue}:1.0")
        def outer(to: str, ctx: Context) -> Any:
            return ctx.call("where:1.0", queue=to)

        self.told: list[dict[str, Any]] = []
        self.unreadable: list[dict[str, Any]] = []
        self.worker = Worker(server.url, tasks=[where, outer], queue=queue)
        self.worker.events.on("task:elsewhere", self.told.append)
        self.worker.events.on("registry:unreadable", self.unreadable.append)
        self.worker.start()

    def close(self) -> None:
        self.worker.stop(grace=0.1)
