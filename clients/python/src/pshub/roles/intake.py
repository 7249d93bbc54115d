"""From claimed list elements to running handlers, and from outcomes to replies."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from ..clock import RedisClock, now_s
from ..errors import compact
from ..estimates import RunTimes
from ..events import Events
from ..executor import Execution, Executor
from ..keys import Keys
from ..measures import Measures
from ..message import MalformedMessage, Phases, Request, decode_request, error_reply, leading_id, ok_reply
from ..queue import Claimed
from ..slots import Slots
from ..task import DEFAULT_TIMEOUT_S, Task
from .settle import Settlement

_MAX_PUT_BACK = 1000


class Intake:
    def __init__(
        self,
        keys: Keys,
        queue_name: str,
        tasks: Mapping[str, Task],
        executor: Executor,
        slots: Slots,
        clock: RedisClock,
        counters: Dict[str, int],
        measures: Measures,
        run_times: RunTimes,
        events: Events,
        worker_id: Callable[[], str],
        settle: Callable[[Settlement], None],
        unserved: Callable[[str], Optional[Tuple[str, str]]],
        hand_back: Callable[[List[str]], Any],
        on_slots_idle: Callable[[], None],
    ) -> None:
        self._keys = keys
        self._queue_name = queue_name
        self._tasks = tasks
        self._executor = executor
        self._slots = slots
        self._clock = clock
        self._counters = counters
        self._measures = measures
        self._run_times = run_times
        self._events = events
        self._worker_id = worker_id
        self._settle = settle
        #: What to answer when no worker of this queue takes the task; None as long as one may.
        self._unserved = unserved
        #: Puts requests back that only another worker can run. Returns after a pause, in which their slots stay taken.
        self._hand_back = hand_back
        #: After that pause: nothing else would make the next claim.
        self._on_slots_idle = on_slots_idle
        #: Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them.
        self._put_back: Dict[str, int] = {}
        #: Given up when the worker leaves, and safe to run again.
        self._returning: Set[str] = set()
        self._running = 0
        self._on_idle: List["asyncio.Future[None]"] = []
        self._handing_back: Set["asyncio.Task[None]"] = set()

    def take(self, claimed: Claimed, worker_id: str, age_s: float = 0.0) -> None:
        """Starts what a claim brought, ``age_s`` after Redis made it if that is more than its way here."""
        now = now_s()
        self._clock.learn(claimed.now_us, now)
        expired = claimed.expired + len(claimed.hopeless)
        self._counters["expired"] += expired
        if (claimed.requests or expired) and self._events.has("claim:taken"):
            self._events.emit(
                "claim:taken", queue=self._queue_name, count=len(claimed.requests), left=claimed.left, expired=expired
            )
        for text in claimed.hopeless:
            self._refuse_hopeless(text, worker_id)
        # Deadlines go on while an answer is on its way.
        way_s = (self._clock.at_us(now) - claimed.now_us) / 1e6
        received_at = now - max(age_s, way_s)
        foreign: List[Request] = []
        for text, held_id in claimed.requests:
            request = self._decode(text, held_id, worker_id)
            if request is None or self._put_back.get(request.held_id, 0) >= claimed.now_us:
                continue
            if not self._slots.take(request.held_id):
                continue
            if self._executor.has(request.task):
                self._run(request, worker_id, received_at, claimed.now_us)
            elif not self._end_foreign(request, worker_id, claimed.now_us):
                foreign.append(request)
        if foreign:
            task = asyncio.get_running_loop().create_task(self._return_foreign(foreign))
            self._handing_back.add(task)
            task.add_done_callback(self._handing_back.discard)

    def ignore_claims_of(self, ids: Iterable[str], now_us: int) -> None:
        """Claims of these that were made up to then are void; a later one is a new one."""
        if len(self._put_back) > _MAX_PUT_BACK:
            self._put_back.clear()
        for id in ids:
            self._put_back[id] = now_us

    def unfinished(self) -> List[str]:
        """Requests that were started and are not settled; those that may run again are not among them."""
        return [id for id in self._slots.known_ids() if id not in self._returning]

    def decode_adopted(self, text: bytes, held_id: str) -> Optional[Request]:
        """Reads a request taken over from a lost worker."""
        return self._try_decode(text, held_id[5:] if held_id.startswith("lost:") else held_id)

    async def idle(self) -> None:
        """Returns when nothing runs."""
        if self._running:
            waiting: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
            self._on_idle.append(waiting)
            await waiting

    def _try_decode(self, text: bytes, held_id: Optional[str]) -> Optional[Request]:
        try:
            return decode_request(text, held_id, self._keys)
        except MalformedMessage:
            return None

    def _decode(self, text: bytes, held_id: Optional[str], worker_id: str) -> Optional[Request]:
        try:
            return decode_request(text, held_id, self._keys)
        except MalformedMessage as error:
            self._counters["malformed"] += 1
            self._events.emit("request:malformed", queue=self._queue_name, reason=str(error))
            # Held all the same, under the id the claim script read or made up: release it like any other.
            id = held_id or leading_id(text.decode("utf-8", "replace"))
            if id is not None and self._slots.take(id):
                self._settle(Settlement(id, worker_id, None, "", True))
            return None

    def _run(self, request: Request, worker_id: str, received_at: float, now_us: int) -> None:
        backlog_us = 0 if request.at_us is None else max(0, now_us - request.at_us)
        if request.ttl_ms > 0:
            remaining_s = request.ttl_ms / 1000 - backlog_us / 1e6
        else:
            task = self._tasks.get(request.task)
            remaining_s = task.timeout if task else DEFAULT_TIMEOUT_S
        self._running += 1

        def done(execution: Execution) -> None:
            self._running -= 1
            if execution.outcome is not None:
                self._finish(request, worker_id, backlog_us, execution, received_at + remaining_s)
            else:
                self._expire(request, worker_id)
            if not self._running:
                waiting, self._on_idle = self._on_idle, []
                for each in waiting:
                    each.set_result(None)

        self._executor.start(request, received_at, remaining_s, done)

    def _refuse_hopeless(self, text: bytes, worker_id: str) -> None:
        """Dropped by the claim script, so it is not held; its caller need not wait for the deadline."""
        request = self._try_decode(text, None)
        if request is None:
            return
        message = f"{request.task} usually runs longer than what was left of the call's time, so it was not started."
        if self._executor.has(request.task):
            self._measures.expired(request, message)
        error = compact({"code": "Expired", "message": message, "retryable": True})
        self._settle(Settlement("", worker_id, request.hub_id, error_reply(request.id, error, worker_id, None), False))

    def _expire(self, request: Request, worker_id: str) -> None:
        """Its time was up, where the claim script could not see that, or before it was its turn here."""
        self._counters["expired"] += 1
        message = "The deadline passed before the task was started."
        if self._executor.has(request.task):
            self._measures.expired(request, message)
        error = compact({"code": "Expired", "message": message, "retryable": True})
        reply = error_reply(request.id, error, worker_id, None)
        self._settle(Settlement(request.held_id, worker_id, request.hub_id, reply, True))

    def _end_foreign(self, request: Request, worker_id: str, now_us: int) -> bool:
        """True when a request for a task that this worker does not have ends here, because handing it back would be for ever."""
        if request.ttl_ms > 0 and request.at_us is not None:
            # Its deadline ends it; where the claim script cannot see that, here.
            is_over = now_us - request.at_us >= request.ttl_ms * 1000
            if is_over:
                self._expire(request, worker_id)
            return is_over
        verdict = self._unserved(request.task)
        if verdict is None:
            return False
        self._counters["unserved"] += 1
        # After a death nobody knows whether it was run.
        code = "WorkerLost" if request.losses > 0 else verdict[0]
        reply = error_reply(request.id, compact({"code": code, "message": verdict[1]}), worker_id, None)
        self._settle(Settlement(request.held_id, worker_id, request.hub_id, reply, True))
        self._events.emit(
            "request:unserved",
            queue=self._queue_name,
            task=request.task,
            code=code,
            answered=request.hub_id is not None,
        )
        return True

    def _finish(
        self, request: Request, worker_id: str, backlog_us: int, execution: Execution, deadline: float
    ) -> None:
        if worker_id != self._worker_id():
            return
        outcome = execution.outcome
        assert outcome is not None
        us = Phases(backlog_us, max(0, round(execution.queue_s * 1e6)), max(0, round(execution.exec_s * 1e6)))
        if outcome.code == "WorkerLost" and self._tasks[request.task].idempotent:
            # This worker leaves: what may run twice stays held, and goes back to the list in its last step.
            self._slots.free([request.held_id])
            self._returning.add(request.held_id)
            return
        self._measures.ran(request, outcome.code, outcome.message, us)
        if outcome.code is None:
            self._counters["ok"] += 1
            self._run_times.note(request.task, execution.exec_s)
            reply = ok_reply(request.id, outcome.text, worker_id, us)
        else:
            self._counters["failed"] += 1
            reply = error_reply(request.id, outcome.text, worker_id, us)
        # The caller's own deadline came before this one; nobody would read the reply.
        hub_id = None if request.ttl_ms > 0 and now_s() > deadline else request.hub_id
        self._settle(Settlement(request.held_id, worker_id, hub_id, reply, True))
        if self._events.has("task:settled"):
            self._events.emit(
                "task:settled",
                task=request.task,
                queue=self._queue_name,
                id=request.id,
                ok=outcome.code is None,
                code=outcome.code,
                message=outcome.message,
                raised=outcome.raised,
                us=us,
            )

    async def _return_foreign(self, foreign: List[Request]) -> None:
        ids = [request.held_id for request in foreign]
        self._events.emit("request:handedback", queue=self._queue_name, task=foreign[0].task, count=len(ids))
        # Before they are sent back, since they may come again ahead of the answer. Did it fail, reconcile finds them.
        self._slots.forget(ids)
        await self._hand_back(ids)
        self._slots.free(ids)
        self._on_slots_idle()
