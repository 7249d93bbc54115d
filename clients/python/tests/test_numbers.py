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
    "longest backlog that a hub pushes to": TABLE["max_backlog"].fallback,
    "standing backlog: shortest interval, ms": forecast._LEAST_INTERVAL_MS,
    "standing backlog: shortest interval, in runs": forecast._INTERVAL_RUNS,
    "standing backlog: interval as a share of the longest time that calls have left": forecast._INTERVAL_PART,
    "standing backlog: target, in rounds of the slots": forecast._TARGET_SLOTS,
    "standing backlog: least target, ms": forecast._TARGET_MS,
    "heartbeat interval, ms": beat.BEAT_S * 1000,
    "lease length, ms": TABLE["lease"].fallback * 1000,
    "heartbeats per lease, at least": beat.BEATS_PER_LEASE,
    "timeout of `BLPOP` and `BLMOVE`, s": BLOCK_S,
    "a push number is remembered for, ms": queue.PUSH_MEMORY_MS,
    "a reply list is kept after its last reply for, ms": queue.REPLY_TTL_MS,
    "a cancelled id is kept for, ms": queue.CANCEL_MEMORY_MS,
    "a handler keeps its slot after its time limit for, ms": executor.ABANDON_AFTER_S * 1000,
    "default `timeoutMs`": task.DEFAULT_TIMEOUT_S * 1000,
    "longest timeout of a call, ms": task.MAX_TIMEOUT_S * 1000,
    "grace period of a leaving worker, ms": TABLE["grace"].fallback * 1000,
    "requests moved per adoption step": queue._ADOPT_BATCH,
    "largest answer or write, bytes": batches.MAX_BATCH_BYTES,
    "no adoption after a start or an interruption for, ms": adopt._GRACE_S * 1000,
    "a request without a deadline waits for a worker of its task for, ms": unserved.PATIENCE_S * 1000,
    "dead jobs kept per queue": queue.MAX_DEAD,
    "a dead job is kept for, ms": queue.DEAD_MS,
    "the worker that moves due jobs or runs schedules is replaced after, ms": queue.TURN_MS,
    "default retries of a job": backoff.DEFAULT_RETRIES,
    "default time limit of a job's run, ms": task.DEFAULT_JOB_TIMEOUT_MS,
    "callers that wait for one job": job_queue.MAX_WAITERS,
    "an arrival from another queue is remembered for, ms": job_queue.CAME_MS,
    "an unclosed batch is dropped after, ms": job_queue.OPEN_BATCH_MS,
    "longest message of a job's failure, characters": job_part.MAX_FAILURE_MESSAGE,
    "task cards are rewritten every, ms": registrar.REPUBLISH_MS,
    "records checked for age with each rewrite": catalogue._PAGE,
    "workers that write statistics with every heartbeat": registrar._TELLING_AT_ONCE,
    "most heartbeats between two statistics": registrar._MOST_BEATS,
    "live workers that a caller looks at first": catalogue._LIVE_PAGE,
    "longest use of a route, ms": routes._STALE_S * 1000,
    "slice of a statistics window, ms": task_stats._SLICE_S * 1000,
    "slices of a statistics window": task_stats._SLICES,
    "tasks with their own window": task_stats._MAX_WINDOWS,
    "all windows of a worker, characters": task_stats._MAX_WINDOW_CHARS,
    "named callers per task": callers.MAX_CALLERS,
    "recent failures kept per task": recent_failures._MAX_FAILURES,
    "tasks with recent failures": recent_failures._MAX_TASKS,
    "a recent failure is kept for, ms": recent_failures._MEMORY_S * 1000,
    "longest message of a recent failure, characters": recent_failures._MAX_MESSAGE_CHARS,
    "all recent failures of a worker, characters": recent_failures._MAX_CHARS,
    "tasks with unanswered calls per hub": unanswered._MAX_TASKS,
    "longest message of an unanswered call, characters": unanswered._MAX_MESSAGE_CHARS,
    "all unanswered calls of a hub, characters": unanswered._MAX_CHARS,
    "unanswered calls are kept for, ms": unanswered_report._MEMORY_MS,
    "hubs with unanswered calls": unanswered_report._MAX_HUBS,
    "longest task card, characters": foreign.MAX_CARD_LENGTH,
    "longest other record of the registry, characters": foreign.MAX_RECORD_LENGTH,
    "deepest nesting of a record of the registry": foreign._MAX_NESTING,
}
#: What only the reference does: it stands in for a blocked loop, reports queues, keeps slow calls. And what the library in Redis
#: decides for all languages: how many workers a request may lose.
NOT_OURS = {
    "longest blocked event loop that keeps its lease, ms",
    "the reporter of a queue is replaced after, ms",
    "a request is not run again after so many lost workers",
    "slow calls kept per task",
    "tasks with slow calls",
    "a slow call is kept for, ms",
    "failures kept in a job",
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
