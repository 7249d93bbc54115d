"""A hub whose ``enqueue`` returns when the job has run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..hub.arguments import Called
from ..hub.hub import Hub
from ..jobs.blocking import Job
from .clock import TestClock
from .enqueued import EnqueuedJobs
from .runs import Runs
from .worker import TestWorker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..jobs.enqueue_options import EnqueueOptions

#: So long, in real time, one job may take.
_TIMEOUT_S = 5.0


class InlineHub(Hub):
    """What is to run later, or in a queue that the worker of the test does not serve, is only enqueued."""

    _parts: tuple[Runs, EnqueuedJobs, TestClock, TestWorker] | None = None

    def run_inline(self, runs: Runs, record: EnqueuedJobs, clock: TestClock, serving: TestWorker) -> None:
        self._parts = (runs, record, clock, serving)

    def enqueue(self, task: Called, args: Any = {}, /, **options: Unpack[EnqueueOptions]) -> Job[Any]:  # noqa: B006
        job: Job[Any] = super().enqueue(task, args, **options)
        if self._parts is None or job.is_twin:
            return job
        runs, record, clock, serving = self._parts
        enqueued = record.by_id(job.id)
        if enqueued is None or enqueued.queue not in serving.queues or enqueued.due_ms > clock.now_ms:
            return job
        end = runs.end_of(job.id, _TIMEOUT_S)
        if end is None:
            raise AssertionError(
                f"The job {job.id} of {enqueued.task} did not end within {_TIMEOUT_S:g} s. "
                "Does it wait for another job of its key, or for this one, or do more jobs wait for each other than the worker has slots?"
            )
        # Until that is known in Redis, too: status() and result() tell of it.
        clock.quiet(patient=False)
        [raised] = end
        if raised is not None:
            raise raised
        return job
