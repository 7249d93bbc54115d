"""Every key name that pshub uses; nobody else writes one. PROTOCOL.md, section 2."""

from __future__ import annotations

import re
from typing import Any

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FORWARDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,55}")
_SHARD = re.compile(r"shard\.[0-9]{1,6}\.(.+)")
_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


def is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def is_queue_name(value: Any) -> bool:
    return isinstance(value, str) and _QUEUE.fullmatch(value) is not None


def is_forwarder_name(value: Any) -> bool:
    return isinstance(value, str) and _FORWARDER.fullmatch(value) is not None


def forward_queue(forwarder: str) -> str:
    """The queue of the jobs that a forwarder takes out of the hub."""
    return f"forward.{forwarder}"


def forwarder_of(queue: Any) -> str | None:
    """Whose queue it is; None for that of a worker."""
    return queue[len("forward.") :] if isinstance(queue, str) and queue.startswith("forward.") else None


def whole_queue(queue: str) -> str:
    """The queue that something is a shard of; the queue itself where it is none."""
    found = _SHARD.fullmatch(queue)
    return found[1] if found else queue


def is_shard_of(name: Any, queue: str) -> bool:
    return is_queue_name(name) and name != queue and whole_queue(name) == queue


def is_namespace(value: Any) -> bool:
    return isinstance(value, str) and _NAMESPACE.fullmatch(value) is not None


class QueueKeys:
    """All keys of a queue share its hash tag, so that each function touches one slot of a Cluster."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.calls = f"{base}:calls"
        #: Functions find all that there is of jobs by its name.
        self.jobs = f"{base}:jobs"
        self.jobs_high = f"{base}:jobs:high"
        self.jobs_low = f"{base}:jobs:low"
        #: Jobs that wait for their time, and for their next try.
        self.scheduled = f"{base}:scheduled"
        self.retries = f"{base}:retries"
        self.bell = f"{base}:bell"
        self.job_bell = f"{base}:jobbell"
        self.due_bell = f"{base}:duebell"
        self.dead = f"{base}:dead"
        #: Keys of jobs that wait for their time.
        self.later = f"{base}:later"
        #: How many jobs and keys wait of each task that has keys.
        self.lined = f"{base}:lined"
        self.cron = f"{base}:cron"
        self.ticks = f"{base}:ticks"
        self.reporter = f"{base}:reporter"
        self.paused = f"{base}:paused"
        self.leases = f"{base}:leases"
        self.cancelled = f"{base}:cancelled"
        #: Over which shards the queue is spread, in the place of each of them.
        self.shards = f"{base}:shards"

    def job(self, id: str) -> str:
        return f"{self._base}:job:{id}"

    def progress(self, id: str) -> str:
        """How far a job is that runs."""
        return f"{self._base}:progress:{id}"

    def line(self, task: str, key: str) -> str:
        """The jobs of a key that wait; ``merged``: the payloads."""
        return f"{self._base}:line:{task}:{key}"

    def merged(self, task: str, key: str) -> str:
        return f"{self._base}:merged:{task}:{key}"

    def keys_of(self, task: str) -> str:
        """Keys that are due; ``running``: that run; ``tried``: that failed."""
        return f"{self._base}:keys:{task}"

    def running(self, task: str) -> str:
        return f"{self._base}:running:{task}"

    def tried(self, task: str) -> str:
        return f"{self._base}:tried:{task}"

    def batch(self, id: str) -> str:
        return f"{self._base}:batch:{id}"

    def came(self, id: str) -> str:
        return f"{self._base}:came:{id}"

    def enqueued(self, hub_id: str) -> str:
        return f"{self._base}:enqueued:{hub_id}"

    def held(self, worker_id: str) -> str:
        return f"{self._base}:held:{worker_id}"

    def pushed(self, hub_id: str) -> str:
        return f"{self._base}:pushed:{hub_id}"


class Keys:
    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.tasks = f"{namespace}:tasks"
        #: Queues into which jobs were put by name before anybody declared a task there.
        self.queues = f"{namespace}:queues"
        self.workers = f"{namespace}:workers"
        self.stats = f"{namespace}:stats"
        self.taskstats = f"{namespace}:taskstats"
        self.slow = f"{namespace}:slow"
        self.failures = f"{namespace}:failures"
        #: Hubs by when they last wrote what they refused.
        self.refusing = f"{namespace}:refusing"
        self._reply = f"{namespace}:reply:{{"
        self._queues: dict[str, QueueKeys] = {}

    def queue(self, name: str) -> QueueKeys:
        keys = self._queues.get(name)
        if keys is None:
            keys = self._queues[name] = QueueKeys(f"{self.namespace}:{{{name}}}")
        return keys

    def refused(self, hub_id: str) -> str:
        return f"{self.namespace}:refused:{hub_id}"

    def reply(self, hub_id: str) -> str:
        return f"{self._reply}{hub_id}}}"

    def read(self, hub_id: str) -> str:
        return f"{self._reply}{hub_id}}}:read"

    def taken(self, hub_id: str, id: str) -> str:
        """How many chunks of a stream its caller has taken."""
        return f"{self._reply}{hub_id}}}:taken:{id}"

    def hub_id_of(self, result_queue: Any) -> str | None:
        """The hub whose reply list this is, or None: a worker never writes to a name that it was handed."""
        if not isinstance(result_queue, str) or not result_queue.startswith(self._reply):
            return None
        hub_id = result_queue[len(self._reply) : -1]
        return hub_id if result_queue.endswith("}") and is_id(hub_id) else None
