"""From claimed list elements to running handlers, and from outcomes to replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ...figures.events import Events
from ...jobs.held_job import held_as_job, is_held_job
from ...jobs.verdict import is_put_off
from ...queue.job_queue import JobEnd
from ...task.task import Task
from ...wire.answers import Claimed, ClaimedRequest
from ...wire.clock import now_s, spawn
from ...wire.errors import ToldError, outcome_of, told_error
from ...wire.failures import problems_of
from ...wire.keys import Keys
from ...wire.message import MalformedMessage, Request, decode_request, error_reply, leading_at, leading_id, ok_reply, told
from ...wire.phases import Phases
from ...wire.redis_clock import RedisClock
from ..executor import Execution, Executor
from ..handling import Outcome
from ..job_ends import JobEnds
from ..measures import Measures
from ..merged_run import cut_run
from ..slots import Slot, Slots
from .settle import Settlement

_MAX_PUT_BACK = 1000
#: After handing a request back a worker rests, so as not to take it again at once: at first so long, then twice as long each time.
_FIRST_REST_S = 0.05
_LONGEST_REST_S = 0.4


class _Run(NamedTuple):
    """A request that was started."""

    request: Request
    worker_id: str
    slot: Slot
    backlog_us: int
    deadline: float


def _key_wait(request: Request) -> int | None:
    """From when a job was due until its key was free; None of one without a key."""
    since = (request.job or {}).get("since")
    return None if since is None or request.at_us is None else max(0, since - request.at_us)


class Intake:
    def __init__(
        self,
        keys: Keys,
        queue_name: str,
        tasks: Mapping[str, Task[..., Any]],
        executor: Executor,
        slots: Slots,
        clock: RedisClock,
        measures: Measures,
        events: Events,
        job_ends: JobEnds,
        worker_id: Callable[[], str],
        settle: Callable[[Settlement], None],
        moves: Callable[[Request, str, int], bool],
        unserved: Callable[[str], tuple[str, str] | None],
        hand_back: Callable[[list[str]], Any],
        problem: Callable[[str], Callable[[Exception], None]],
        heard: Callable[[Request], None],
    ) -> None:
        self._keys = keys
        self._queue_name = queue_name
        self._tasks = tasks
        self._executor = executor
        self._slots = slots
        self._clock = clock
        self._measures = measures
        self._events = events
        self._job_ends = job_ends
        self._worker_id = worker_id
        self._settle = settle
        #: Has a job moved whose key belongs into another shard.
        self._moves = moves
        #: What to answer when no worker of this queue takes the task; None as long as one may.
        self._unserved = unserved
        #: Puts requests back that only another worker can run.
        self._hand_back = hand_back
        self._problem, self._heard = problem, heard
        #: Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them.
        self._put_back: dict[str, int] = {}
        #: How long to rest, by whether of jobs alone.
        self._rests_s = {False: 0.0, True: 0.0}
        self._running = 0
        self._on_idle: list[asyncio.Future[None]] = []
        self._handing_back: set[asyncio.Task[None]] = set()

    def take(self, claimed: Claimed, worker_id: str, age_s: float = 0.0) -> tuple[float, bool]:
        """
        Starts what a claim brought, ``age_s`` after Redis made it if that is more than its way here. Returns how long to rest before
        the next claim, if what only others can run is in the list again, and whether of jobs alone.
        """
        now = now_s()
        self._tell(claimed)
        self._clock.learn(claimed.now_us, now)
        # Deadlines go on while an answer is on its way.
        way_s = (self._clock.at_us(now) - claimed.now_us) / 1e6
        received_at = now - max(age_s, way_s)
        foreign: list[Request] = []
        for element in claimed.requests:
            request = self._accepted(element, worker_id, claimed.now_us)
            if request is None or self._moves(request, worker_id, claimed.now_us):
                continue
            if self._executor.has(request.task):
                self._run(request, worker_id, received_at, claimed.now_us)
            elif not self._end_foreign(request, worker_id, claimed.now_us):
                foreign.append(request)
        if foreign:
            spawn(self._return_foreign(foreign), self._handing_back)
            of_jobs = all(is_held_job(request.held_id) for request in foreign)
            self._rests_s[of_jobs] = min(_LONGEST_REST_S, max(_FIRST_REST_S, self._rests_s[of_jobs] * 2))
            return self._rests_s[of_jobs], of_jobs
        self._rests_s[False] = 0.0
        # A claim of calls alone says nothing of the jobs.
        if claimed.requests and claimed.requests[-1].is_job:
            self._rests_s[True] = 0.0
        return 0.0, False

    def ignore_claims_of(self, ids: Iterable[str], now_us: int) -> None:
        """Claims of these that were made up to then are void; a later one is a new one."""
        if len(self._put_back) > _MAX_PUT_BACK:
            self._put_back.clear()
        for id in ids:
            self._put_back[id] = now_us

    async def idle(self) -> None:
        """Returns when nothing runs."""
        if self._running:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._on_idle.append(waiting)
            await waiting

    def _tell(self, claimed: Claimed) -> None:
        self._measures.counters["expired"] += claimed.expired
        if (claimed.requests or claimed.expired) and self._events.has("claim:taken"):
            count = len(claimed.requests)
            self._events.emit("claim:taken", queue=self._queue_name, count=count, left=claimed.left, expired=claimed.expired)

    def _accepted(self, element: ClaimedRequest, worker_id: str, now_us: int) -> Request | None:
        """The request of a list element that is to be run, here or elsewhere; None when it is none, or not to be run."""
        request = self._decode(element, worker_id)
        if request is None or self._put_back.get(request.held_id, 0) >= now_us:
            return None
        if self._slots.was_released(request.held_id):
            self._end_repeated(request, worker_id)
            return None
        at = leading_at(request.text) if element.is_job else ""
        return request if self._slots.know(request.held_id, at) else None

    def _decode(self, element: ClaimedRequest, worker_id: str) -> Request | None:
        text, made_up_id, is_job = element
        run = cut_run(text, self._keys) if is_job else None
        if run is not None:
            return run
        try:
            request = decode_request(text, made_up_id, self._keys)
            if is_job:
                request.held_id = held_as_job(request.held_id)
            return request
        except MalformedMessage as error:
            self._measures.counters["malformed"] += 1
            self._events.emit("request:malformed", queue=self._queue_name, reason=str(error))
            # Held all the same, under the id the claim read or made up: release it like any other.
            said = text.decode("utf-8", "replace")
            id = made_up_id or leading_id(said)
            held_id = held_as_job(id) if id is not None and is_job else id
            if held_id is not None and self._slots.know(held_id, leading_at(said) if is_job else ""):
                self._settle(Settlement(held_id, worker_id, None, ""))
            return None

    def _end_repeated(self, request: Request, worker_id: str) -> None:
        """It ended here before, and Redis has forgotten that: a replica was promoted that had not heard of it yet."""
        if self._slots.know(request.held_id):
            message = f"{request.task} had already run when Redis failed over, and was not run again."
            self._problem("failover")(RuntimeError(message))
            self._fail(request, worker_id, told_error("WorkerLost", message))

    def _run(self, request: Request, worker_id: str, received_at: float, now_us: int) -> None:
        at_us = now_us if request.at_us is None else request.at_us
        backlog_us = max(0, now_us - max(at_us, (request.job or {}).get("since", 0)))
        task, is_job = self._tasks[request.task], is_held_job(request.held_id)
        if is_job:
            if 0 < request.ttl_ms <= (now_us - at_us) / 1000:
                return self._end_job(request, worker_id, self._job_ends.expired(request))
            remaining_s = task.job_timeout_ms / 1000 + now_s() - received_at
        elif request.ttl_ms > 0:
            remaining_s = request.ttl_ms / 1000 - backlog_us / 1e6
        else:
            remaining_s = task.timeout
        run = _Run(request, worker_id, self._slots.take(is_job), backlog_us, received_at + remaining_s)
        self._running += 1

        def done(execution: Execution) -> None:
            self._running -= 1
            if execution.outcome is None and is_job:
                late = told_error("Timeout", f"{request.task} did not start before its deadline.")
                self._finish(run, execution, Outcome(error=late))
            elif execution.outcome is not None:
                self._finish(run, execution, execution.outcome)
            else:
                self._expire(request, worker_id, run.slot)
            if not self._running:
                waiting, self._on_idle = self._on_idle, []
                for each in waiting:
                    each.set_result(None)

        self._executor.start(request, received_at, remaining_s, done)

    def _fail(self, request: Request, worker_id: str, error: ToldError, slot: Slot | None = None) -> None:
        reply = error_reply(request, error, worker_id, None)
        self._settle(Settlement(request.held_id, worker_id, request.hub_id, reply, slot))

    def _end_job(self, request: Request, worker_id: str, end: JobEnd | None, slot: Slot | None = None) -> None:
        """Without ``end`` it need only be released."""
        self._settle(Settlement(request.held_id, worker_id, None, "", slot, end))

    def _expire(self, request: Request, worker_id: str, slot: Slot | None = None) -> None:
        """Its time was up, where the claim could not see that, or before it was its turn here."""
        error = told(request, told_error("Expired", "The deadline passed before the task was started.", True))
        self._measures.counters["expired"] += 1
        # Only for tasks of its own: anything may be written into a request.
        if self._executor.has(request.task):
            self._measures.expired(request, error)
        self._fail(request, worker_id, error, slot)

    def _end_foreign(self, request: Request, worker_id: str, now_us: int) -> bool:
        """True when a request for a task that this worker does not have ends here, because handing it back would be for ever."""
        if request.ttl_ms > 0 and request.at_us is not None:
            # Its deadline ends it; where the claim cannot see that, here.
            is_over = now_us - request.at_us >= request.ttl_ms * 1000
            if is_over and is_held_job(request.held_id):
                self._end_job(request, worker_id, self._job_ends.expired(request))
            elif is_over:
                self._expire(request, worker_id)
            return is_over
        verdict = self._unserved(request.task)
        if verdict is None:
            return False
        if is_held_job(request.held_id):
            self._end_job(request, worker_id, self._job_ends.unserved(request, verdict))
            return True
        self._measures.counters["unserved"] += 1
        error = told(request, told_error(*verdict))
        self._fail(request, worker_id, error)
        self._events.emit(
            "request:unserved",
            queue=self._queue_name,
            task=request.task,
            code=error.code,
            answered=request.hub_id is not None,
        )
        return True

    def _finish(self, run: _Run, execution: Execution, outcome: Outcome) -> None:
        request, worker_id, slot, backlog_us, deadline = run
        self._heard(request)
        if worker_id != self._worker_id():
            return
        is_job = is_held_job(request.held_id)
        us = Phases(backlog_us, max(0, round(execution.queue_s * 1e6)), max(0, round(execution.exec_s * 1e6)))
        if outcome.error and outcome.error.code == "WorkerLost" and (request.idempotent or is_job):
            # This worker leaves: what may run twice stays held, and goes back to the list in its last step.
            self._slots.free(slot)
            return
        error = outcome.error if is_job else outcome.error and told(request, outcome.error)
        end = self._job_ends.ran(request, outcome, execution) if is_job else None
        if is_put_off(end) or outcome.refused is not None:
            # It did not run, or was not to.
            return self._end_job(request, worker_id, end, slot)
        self._measures.ran(request, error, us)
        if is_job:
            self._end_job(request, worker_id, end, slot)
        else:
            if error is None:
                reply = ok_reply(request.id, outcome.result, worker_id, us, outcome.chunks)
            else:
                reply = error_reply(request, error, worker_id, us)
            # The caller's own deadline came before this one; nobody would read the reply.
            hub_id = None if request.ttl_ms > 0 and now_s() > deadline else request.hub_id
            self._settle(Settlement(request.held_id, worker_id, hub_id, reply, slot))
        self._tell_settled(request, outcome, error, us)

    def _tell_settled(self, request: Request, outcome: Outcome, error: ToldError | None, us: Phases) -> None:
        if self._events.has("task:settled"):
            self._events.emit(
                "task:settled",
                task=request.task,
                queue=self._queue_name,
                id=request.id,
                ok=error is None,
                outcome=outcome_of(error and error.code, error and error.status),
                code=error and error.code,
                message=error.message if error else "",
                problems=problems_of(error) if error else [],
                raised=outcome.raised,
                us=us,
                key_us=_key_wait(request),
                is_job=is_held_job(request.held_id),
            )

    async def _return_foreign(self, foreign: list[Request]) -> None:
        ids = [request.held_id for request in foreign]
        self._events.emit("request:handedback", queue=self._queue_name, task=foreign[0].task, count=len(ids))
        # Before they are sent back, since they may come again ahead of the answer. Did it fail, reconcile finds them.
        self._slots.forget(ids)
        await self._hand_back(ids)
