"""The numbers of PROTOCOL.md, section 12, and what people are told of Redis' refusals, held against this package."""

from __future__ import annotations

import re

from conftest import vectors
from pshub.catalogue import catalogue, registrar, unanswered_report
from pshub.figures import callers, recent_failures, task_stats, unanswered
from pshub.hub import forecast, outbox, routes
from pshub.jobs import backoff
from pshub.queue import batches, job_queue, queue
from pshub.redis.connections import BLOCK_S
from pshub.redis.refusals import explained
from pshub.settings.table import TABLE
from pshub.task import task
from pshub.wire import foreign, job_part, message, payload
from pshub.wire.ids import new_id
from pshub.worker import executor, unserved
from pshub.worker.roles import adopt, beat

#: As this package has them; in seconds where the table has milliseconds.
OURS = {
    "deepest nesting of arguments and results": payload.MAX_DEPTH,
    "largest arguments or result, bytes": TABLE["max_payload_bytes"].fallback,
    "longest `tracestate`, characters": message._MAX_TRACESTATE,
    "longest backlog a hub pushes to": TABLE["max_backlog"].fallback,
    "shortest interval after which a list stands, ms": forecast._LEAST_INTERVAL_MS,
    "the same, in runs": forecast._INTERVAL_RUNS,
    "the same, as a part of the longest time that calls have left": forecast._INTERVAL_PART,
    "target of a list that stands, in rounds of the slots": forecast._TARGET_SLOTS,
    "the same, at least, ms": forecast._TARGET_MS,
    "beat, ms": beat.BEAT_S * 1000,
    "lease, ms": TABLE["lease"].fallback * 1000,
    "beats per lease, at least": beat.BEATS_PER_LEASE,
    "block of `BLPOP` and `BLMOVE`, s": BLOCK_S,
    "memory of a push number, ms": queue.PUSH_MEMORY_MS,
    "life of a reply list after its last reply, ms": queue.REPLY_TTL_MS,
    "memory of a cancellation, ms": queue.CANCEL_MEMORY_MS,
    "time for a handler after its deadline, ms": executor.ABANDON_AFTER_S * 1000,
    "default `timeoutMs`": task.DEFAULT_TIMEOUT_S * 1000,
    "longest time of a call, ms": task.MAX_TIMEOUT_S * 1000,
    "grace when leaving, ms": TABLE["grace"].fallback * 1000,
    "requests moved per adoption": queue._ADOPT_BATCH,
    "one answer or one write, bytes": batches.MAX_BATCH_BYTES,
    "no adoption after a start or an interruption, ms": adopt._GRACE_S * 1000,
    "a task nobody takes is waited for, ms": unserved.PATIENCE_S * 1000,
    "dead jobs of a queue": queue.MAX_DEAD,
    "life of a dead job, ms": queue.DEAD_MS,
    "a worker that looks after what is due is replaced after, ms": queue.TURN_MS,
    "tries after the first one of a job": backoff.DEFAULT_RETRIES,
    "a job runs for, at the most, ms": task.DEFAULT_JOB_TIMEOUT_MS,
    "who waits for one job": job_queue.MAX_WAITERS,
    "a job that came from another queue is known for, ms": job_queue.CAME_MS,
    "a batch that is not closed is forgotten after, ms": job_queue.OPEN_BATCH_MS,
    "longest message of a job's failure, characters": job_part.MAX_FAILURE_MESSAGE,
    "cards are rewritten every, ms": registrar.REPUBLISH_MS,
    "records of the registry that are looked at with that": catalogue._PAGE,
    "workers that write statistics with every beat": registrar._TELLING_AT_ONCE,
    "beats from statistics to statistics, at most": registrar._MOST_BEATS,
    "live workers of a queue that a caller looks at first": catalogue._LIVE_PAGE,
    "longest use of a route, ms": routes._STALE_S * 1000,
    "a slice of the windows of statistics, ms": task_stats._SLICE_S * 1000,
    "slices of a window": task_stats._SLICES,
    "tasks with a window of their own": task_stats._MAX_WINDOWS,
    "longest windows of a worker, characters": task_stats._MAX_WINDOW_CHARS,
    "services that call a task, by name": callers.MAX_CALLERS,
    "recent failures of a task": recent_failures._MAX_FAILURES,
    "tasks with recent failures": recent_failures._MAX_TASKS,
    "memory of recent failures, ms": recent_failures._MEMORY_S * 1000,
    "longest message of a recent failure, characters": recent_failures._MAX_MESSAGE_CHARS,
    "longest recent failures of a worker, characters": recent_failures._MAX_CHARS,
    "tasks with unanswered calls of a hub": unanswered._MAX_TASKS,
    "longest message of an unanswered call, characters": unanswered._MAX_MESSAGE_CHARS,
    "longest unanswered calls of a hub, characters": unanswered._MAX_CHARS,
    "memory of unanswered calls, ms": unanswered_report._MEMORY_MS,
    "hubs whose unanswered calls are listed": unanswered_report._MAX_HUBS,
    "longest task card, characters": foreign.MAX_CARD_LENGTH,
    "longest other record of the registry, characters": foreign.MAX_RECORD_LENGTH,
    "deepest nesting of a record of the registry": foreign._MAX_NESTING,
}
#: What only the reference does: it stands in for a blocked loop, reports queues, keeps slow calls. And what the library in Redis
#: decides for all languages: how many workers a request may lose.
NOT_OURS = {
    "longest time without a turn of the loop in which the lease is kept, ms",
    "a worker that reports its queue is replaced after, ms",
    "workers a request may lose",
    "slow calls of a task",
    "tasks with slow calls",
    "memory of slow calls, ms",
    "failures that a job keeps",
}


def test_numbers() -> None:
    numbers = vectors("numbers.json")["numbers"]
    assert {name: value for name, value in numbers.items() if name not in NOT_OURS} == OURS
    assert outbox._MAX_BATCH_CHARS == batches.MAX_BATCH_BYTES


def test_refusals() -> None:
    for case in vectors("refusals.json")["cases"]:
        assert explained(case["message"]) == case["told"]


def test_ids_are_unlike_each_other_and_no_options_of_a_command_line() -> None:
    made = {new_id() for _ in range(5000)}
    assert len(made) == 5000 and not [id for id in made if not re.fullmatch(r"\w[\w-]{21}", id)]
