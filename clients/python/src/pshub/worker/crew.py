"""What serves one place of a worker's queue, under an identity of its own, and the roles that do what is done in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from ..catalogue.registrar import Registrar
from ..figures.events import Events
from ..queue.job_queue import JobQueue
from ..queue.queue import MergedTask, Queue
from ..redis.connection import Connection
from ..redis.refusals import explained
from ..settings.table import Settings
from ..task.task import Task
from ..wire.answers import Beat, Claimed
from ..wire.clock import Stop, ignore, now_s, spawn, within
from ..wire.errors import hub_error
from ..wire.ids import new_id
from ..wire.keys import Keys
from ..wire.message import Request
from ..wire.raised import message_of
from ..wire.redis_clock import RedisClock
from .async_runs import AsyncRuns
from .context import NestedCall
from .executor import Executor
from .job_ends import JobEnds
from .measures import Measures
from .roles.adopt import Adopt
from .roles.beat import BeatLoop
from .roles.due import Due
from .roles.farewell import Farewell
from .roles.fetch import FetchLoop
from .roles.forward import Forward
from .roles.hearing import Hearing
from .roles.intake import Intake
from .roles.pause import Pause
from .roles.reconcile import Reconcile
from .roles.retreat import Retreat
from .roles.settle import Settle
from .roles.tick import Tick
from .served_queue import ServedQueue
from .sharding import Sharding
from .slot_pool import SlotPool
from .slots import Slots
from .unserved import Unserved

#: How long the last confirmations are waited for.
_PATIENCE_S = 2.0


class Common(NamedTuple):
    """What the crews of one worker share."""

    settings: Settings
    tasks: Mapping[str, Task[..., Any]]
    events: Events
    keys: Keys
    pool: SlotPool
    fetch: FetchLoop
    sharding: Sharding
    post: Callable[..., None]
    nested_call: NestedCall
    async_runs: AsyncRuns
    #: Whether it serves a queue.
    serves: Callable[[str], bool]


class Crew:
    def __init__(self, common: Common, name: str, commands: Connection, waiting: Connection, on_gone: Callable[[Crew], None]) -> None:
        """
        ``commands`` and ``waiting`` stand where the place is. ``on_gone`` is told when this holds nothing, and its place is none of
        the queue any more.
        """
        self.id = new_id()
        self.name = name
        self.slots = Slots(common.pool)
        self._common = common
        self._events = common.events
        self._on_gone = on_gone
        self._clock = RedisClock()
        self._measures = Measures(self.slots, self._clock)
        self._commands = commands
        self._waiting = waiting
        self._queue = Queue(name, common.keys)
        self._job_queue = JobQueue(name, common.keys)
        self._registrar = Registrar(common.keys, self._queue, common.tasks, common.settings, common.events, common.serves)
        self._under_way: set[asyncio.Task[Any]] = set()
        self._is_serving = False
        #: Redis may have something of this worker: a lease, cards, requests that it holds.
        self._is_known = False
        settings = common.settings
        self._executor = Executor(
            common.tasks, settings.slots, settings.max_payload_bytes, common.post, common.nested_call, common.async_runs,
            lambda request, context: self._hearing.open(request, context),
            lambda request, context, progress: self._hearing.tell(request, context, progress),
        )  # fmt: skip
        self._make_roles(common.tasks)

    def _make_roles(self, tasks: Mapping[str, Task[..., Any]]) -> None:
        common, queue, commands, slots, events = self._common, self._queue, self._commands, self.slots, self._events
        worker_id, keys = self._worker_id, self._common.keys
        unserved = Unserved(queue.name, lambda task: self._registrar.whereabouts(task, commands))
        job_ends = JobEnds(queue.name, tasks, events, self._measures.counters)
        self._forward = Forward(
            keys, queue, self._job_queue, commands, slots, self._clock, worker_id, common.fetch.slots_idle,
            self._problem("forward"),
        )  # fmt: skip
        self._due = Due(self._job_queue, commands, self._clock, self._problem("due"))
        self._tick = Tick(self._job_queue, commands, self._clock, events, self._problem("schedule"))
        self._intake = Intake(
            keys, queue.name, tasks, self._executor, slots, self._clock, self._measures, events, job_ends,
            worker_id, lambda settlement: self._settle.add(settlement), self._moves,
            unserved.verdict, self._hand_back_to_others, self._problem, lambda request: self._hearing.end(request),
        )  # fmt: skip
        self._hearing = Hearing(
            queue, self._job_queue, commands, worker_id, lambda: self._beat.is_certain, lambda: self._beat.beat_anew(),
            self._executor.abort, common.post, self._problem,
        )  # fmt: skip
        self._settle = Settle(
            queue, self._job_queue, commands, slots, worker_id, lambda: self._beat.is_certain, lambda: self._beat.beat_anew(),
            common.fetch.slots_idle, self._forward.send, self._problem,
        )  # fmt: skip
        merged = [(name, task.merging) for name, task in tasks.items() if task.keyed == "merged"]
        merging = [MergedTask(name, rules.batch, rules.max_payloads) for name, rules in merged]
        self._served = ServedQueue(
            queue, self._waiting, commands, self._clock, merging, worker_id, lambda: common.sharding.epoch_of(queue.name),
            self._age_s, self._intake.take, lambda: self._beat.beat_now(), self._on_due_bell, self._problem("fetch"),
        )  # fmt: skip
        self._pause = Pause(queue.name, events, worker_id, lambda: common.fetch.pause(self._served), lambda: common.fetch.resume(self._served))
        self._adopt = Adopt(
            keys, queue, commands, slots, self._clock, events, worker_id,
            lambda settlement: self._settle.add(settlement), self._forward.send, self._problem("adopt"),
        )  # fmt: skip
        self._reconcile = Reconcile(
            queue, commands, slots, worker_id, self._intake.ignore_claims_of, self._adopt.answer, self._forward.send,
            self._problem,
        )  # fmt: skip
        self._retreat = Retreat(
            queue.keys, commands, slots, lambda: common.sharding.is_gone(queue.name), self._part, self._problem("shards"),
        )  # fmt: skip
        self._beat = BeatLoop(
            queue, commands, common.settings.lease, self._clock, worker_id, self._become_new, lambda: self._is_serving,
            self._tick.is_able, self._publish, self._on_beat, self._on_registered, self._problem("beat"),
        )  # fmt: skip
        self._farewell = Farewell(
            queue, commands, slots, self._clock, self._registrar, worker_id, self._stats, self._problem("stop"),
        )  # fmt: skip

    @property
    def is_certain(self) -> bool:
        """Whether its lease is held, as far as can be told now."""
        return self._beat.is_certain

    # Life.

    async def start(self) -> None:
        """Returns when the lease is held, or could not be had at once: this goes on trying then."""
        self._is_known = self._is_serving = True
        await self._beat.beat_now()
        if self._is_serving:
            self._beat.start()

    async def announce(self) -> None:
        """Before all else of the end: a caller that counts on this worker waits for nothing until its deadline."""
        self._is_serving = False
        if self._is_known:
            await self._farewell.announce()

    async def leave(self, grace_over: Stop) -> dict[str, Any]:
        """
        When nothing is claimed here any more: lets what runs finish until ``grace_over`` is set, puts the rest back, ends the lease. Returns
        what is told of the end.
        """
        handed_back = await self._farewell.hand_back_unknown() if self._is_known else 0
        await within(asyncio.ensure_future(self._intake.idle()), None, grace_over)
        reason = hub_error("WorkerLost", "The worker was stopped before the task had finished.")
        abandoned = self._executor.abandon_all(reason)
        await within(asyncio.ensure_future(self._drained()), _PATIENCE_S)
        self._settle.stop()
        self._hearing.stop()
        self._forward.stop()
        await self._beat.stop()
        await self._adopt.stop()
        await self._due.stop()
        await self._tick.stop()
        if self._is_known:
            handed_back += await self._farewell.leave()
        self._executor.stop()
        return {"worker": self.id, "queue": self.name, "handed_back": handed_back, "abandoned": abandoned}

    async def retreat(self) -> None:
        """Takes nothing from its place any more, while others are still served."""
        await self._common.fetch.remove(self._served)

    async def _drained(self) -> None:
        await self._settle.drained()
        await self._forward.drained()

    # What roles tell and ask.

    def _worker_id(self) -> str:
        return self.id

    def _become_new(self) -> None:
        """The lease was lost: others own what we held. What runs is aborted and settles nothing; we go on as somebody new."""
        before, self.id = self.id, new_id()
        aborted = self._executor.abandon_all(hub_error("WorkerLost", "The lease of the worker ended."))
        self.slots.reset()
        self._events.emit("lease:lost", worker=before, queue=self._queue.name, aborted=aborted)

    async def _age_s(self, claimed: Claimed) -> float:
        if not await self._beat.beat_anew():
            raise ConnectionError("the lease could not be renewed")
        return (self._clock.at_us(now_s()) - claimed.now_us) / 1e6

    async def _publish(self, now_ms: int) -> None:
        try:
            await self._registrar.publish(self._commands, self.id, now_ms, self._stats(now_ms), self._measures.texts)
        except BaseException:
            self._measures.repeat()
            raise

    def _stats(self, seen_ms: int) -> dict[str, Any]:
        return self._measures.stats(seen_ms, not self._is_serving)

    def _on_beat(self, beat: Beat, held: list[str] | None) -> None:
        self._events.emit("worker:beat", worker=self.id, queue=self.name, slots=self.slots.size, busy=self.slots.busy)
        self._pause.on_beat(beat)
        self._hearing.on_beat()
        if beat.held and self._is_serving:
            self._common.sharding.on_beat(self.name, beat.shards)
        for id in beat.cancelled:
            self._executor.abort(id, hub_error("Aborted", "The caller stopped waiting."))
        if not self._is_serving:
            return
        if held is not None:
            arriving_since = self._common.fetch.arriving_since(self._served)
            self._spawn(self._reconcile.look(held, beat.now_us, self._beat.sent_at, arriving_since))
        self._adopt.on_beat(beat.ended)
        self._spawn(self._common.sharding.bring_up(self.name, self._commands))
        self._spawn(self._retreat.look(beat, held))
        self._due.on_beat(beat)
        self._tick.on_beat(beat)

    def _moves(self, request: Request, worker_id: str, now_us: int) -> bool:
        shard = self._common.sharding.shard_of(self.name, request, now_us)
        if shard is not None:
            self._forward.move(request, shard, worker_id)
        return shard is not None

    def _on_registered(self) -> None:
        """The first beat was held: others see this worker from now on."""
        self._common.fetch.add(self._served)
        self._events.emit(
            "worker:started",
            worker=self.id,
            queue=self._queue.name,
            slots=self.slots.size,
            tasks=list(self._common.tasks),
            build=self._common.settings.build,
        )

    def _part(self) -> None:
        if self._is_serving:
            self._on_gone(self)

    def _on_due_bell(self) -> None:
        self._due.on_bell()
        self._tick.on_bell()

    async def _hand_back_to_others(self, ids: list[str]) -> None:
        try:
            await self._queue.handback(self._commands, self.id, "tail", ids)
        except Exception as error:
            self._problem("handback")(error)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """What fails in it is tried again by whoever began it."""
        ignore(spawn(work, self._under_way))

    def _problem(self, where: str) -> Callable[[Exception], None]:
        return lambda error: self._events.emit("problem", where=where, reason=explained(message_of(error)))
