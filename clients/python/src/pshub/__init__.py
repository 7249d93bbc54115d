"""Call tasks in worker processes over Redis and await their results, or serve tasks as a worker. See README.md."""

from .http.problem import HttpProblem, problem_of, timeout_of
from .hub.async_hub import AsyncHub
from .hub.enqueuing import EnqueuedMany
from .hub.gather import Outcome
from .hub.hub import Hub
from .hub.named_tasks import AsyncNamedTask, NamedTask
from .hub.pending import PendingCall
from .hub.stream_readers import AsyncHubStream, HubStream
from .jobs.batch import AsyncBatch, BatchStatus
from .jobs.blocking import Batch, Chain, DeadJobs, Job, JobKey, Schedules
from .jobs.dead import AsyncDeadJobs, DeadJob
from .jobs.job import AsyncChain, AsyncJob
from .jobs.job_key import AsyncJobKey, KeyStatus
from .jobs.job_record import JobStatus
from .jobs.schedules import AsyncSchedules, Schedule
from .task.task import Task, task
from .wire.errors import (
    ERROR_CLASSES,
    Aborted,
    ConfigError,
    Expired,
    HubClosed,
    HubError,
    InvalidArgs,
    InvalidResult,
    NoSuchJob,
    NoSuchTask,
    NotEnqueued,
    NoWorkers,
    OutcomeUnknown,
    Overloaded,
    PayloadTooLarge,
    PutOff,
    TaskError,
    TaskFailed,
    Timeout,
    WorkerLost,
)
from .wire.streams import Progress
from .wire.version import __version__
from .worker.context import Context
from .worker.worker import Worker

__all__ = [
    "ERROR_CLASSES",
    "Aborted",
    "AsyncBatch",
    "AsyncChain",
    "AsyncDeadJobs",
    "AsyncHub",
    "AsyncHubStream",
    "AsyncJob",
    "AsyncJobKey",
    "AsyncNamedTask",
    "AsyncSchedules",
    "Batch",
    "BatchStatus",
    "Chain",
    "ConfigError",
    "Context",
    "DeadJob",
    "DeadJobs",
    "EnqueuedMany",
    "Expired",
    "HttpProblem",
    "Hub",
    "HubClosed",
    "HubError",
    "HubStream",
    "InvalidArgs",
    "InvalidResult",
    "Job",
    "JobKey",
    "JobStatus",
    "KeyStatus",
    "NamedTask",
    "NoSuchJob",
    "NoSuchTask",
    "NoWorkers",
    "NotEnqueued",
    "Outcome",
    "OutcomeUnknown",
    "Overloaded",
    "PayloadTooLarge",
    "PendingCall",
    "Progress",
    "PutOff",
    "Schedule",
    "Schedules",
    "Task",
    "TaskError",
    "TaskFailed",
    "Timeout",
    "Worker",
    "WorkerLost",
    "__version__",
    "problem_of",
    "task",
    "timeout_of",
]
