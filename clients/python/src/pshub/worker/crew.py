"""One worker on its event loop: identity and life, and the roles that do what is done in between."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Coroutine, Dict, List, Mapping, Optional, Set

from ..catalogue.registrar import Registrar
from ..figures.events import Events
from ..queue.job_queue import JobQueue
from ..queue.queue import MergedTask, Queue
from ..redis.boot_check import find_unfit, unfit_text
from ..redis.connections import make_connections
from ..redis.refusals import explained
from ..settings.table import Settings
from ..task.task import Task
from ..wire.answers import Beat, Claimed
from ..wire.clock import Stop, ignore, now_s, spawn, within
from ..wire.errors import ConfigError, hub_error, message_of
from ..wire.ids import new_id
from ..wire.keys import Keys
from ..wire.message import Request
from ..wire.redis_clock import RedisClock
from .executor import Executor
from .job_ends import JobEnds
from .measures import Measures
from .nested import NestedCalls
from .roles.adopt import Adopt
from .roles.beat import BeatLoop
from .roles.due import Due
from .roles.farewell import Farewell
from .roles.fetch import FetchLoop
from .roles.forward import Forward
from .roles.inspect import Inspect
from .roles.intake import Intake
from .roles.pause import Pause
from .roles.reconcile import Reconcile
from .roles.settle import Settle
from .roles.tick import Tick
from .sharding import Sharding
from .slots import Slots
from .unserved import Unserved

#: How long start() waits for Redis, and the end for the last confirmations.
_PATIENCE_S = 2.0


class Crew:
    def __init__(
        self,
        settings: Settings,
        tasks: Mapping[str, Task[Any]],
        events: Events,
        post: Callable[..., None],
        nested: NestedCalls,
    ) -> None:
        self.id = new_id()
        self.events = events
        self.settings = settings
        self.slots = Slots(settings.slots, (settings.slots + 1) // 2 if settings.job_slots is None else settings.job_slots)
        self.state = "new"
        self._clock = RedisClock()
        self._measures = Measures(self.slots, self._clock)
        self._keys = Keys(settings.namespace)
        here = self._keys.queue(settings.queue).calls
        # Where the queue is: these are ready when that server is.
        self._commands, self._waiting = (each.at(here) for each in make_connections("worker", settings.redis, events))
        self._queue = Queue(settings.queue, self._keys)
        self._job_queue = JobQueue(settings.queue, self._keys)
        self._registrar = Registrar(self._keys, self._queue, tasks, settings, events)
        self._sharding = Sharding(settings.queue)
        self._nested = nested
        self._grace_over = Stop()
        self._stopped: Optional["asyncio.Task[None]"] = None
        self._under_way: "Set[asyncio.Task[Any]]" = set()
        #: Redis may have something of this worker: a lease, cards, requests that it holds.
        self._is_known = False
        self._executor = Executor(tasks, settings.slots, settings.max_payload_bytes, post, nested.call)
        self._make_roles(tasks)

    def _make_roles(self, tasks: Mapping[str, Task[Any]]) -> None:
        queue, commands, slots, events = self._queue, self._commands, self.slots, self.events
        worker_id = self._worker_id
        unserved = Unserved(queue.name, lambda task: self._registrar.whereabouts(task, commands))
        job_ends = JobEnds(queue.name, tasks, events, self._measures.counters)
        self._forward = Forward(
            self._keys, queue, self._job_queue, commands, slots, self._clock, worker_id, lambda: self._fetch.slots_idle(),
            self._problem("forward"),
        )  # fmt: skip
        self._due = Due(self._job_queue, commands, self._clock, self._problem("due"))
        self._tick = Tick(self._job_queue, commands, self._clock, events, self._problem("schedule"))
        self._intake = Intake(
            self._keys, queue.name, tasks, self._executor, slots, self._clock, self._measures, events, job_ends,
            worker_id, lambda settlement: self._settle.add(settlement), self._moves,
            unserved.verdict, self._hand_back_to_others, self._problem,
        )  # fmt: skip
        self._settle = Settle(
            queue, self._job_queue, commands, slots, worker_id, lambda: self._beat.is_certain, lambda: self._beat.beat_anew(),
            lambda: self._fetch.slots_idle(), self._forward.send, self._problem,
        )  # fmt: skip
        merged = [(name, task.merging) for name, task in tasks.items() if task.keyed == "merged"]
        merging = [MergedTask(name, rules.batch, rules.max_payloads) for name, rules in merged]
        self._fetch = FetchLoop(
            queue, self._waiting, commands, slots, self._clock, merging, lambda: self._sharding.epoch, worker_id, self._age_s,
            self._intake.take, lambda: self._beat.beat_now(), self._on_due_bell, self._problem("fetch"),
        )  # fmt: skip
        self._pause = Pause(queue.name, events, worker_id, self._fetch.pause, self._fetch.resume)
        self._adopt = Adopt(
            self._keys, queue, commands, slots, self._clock, events, worker_id,
            lambda settlement: self._settle.add(settlement), self._forward.send, self._problem("adopt"),
        )  # fmt: skip
        self._reconcile = Reconcile(
            queue, commands, slots, worker_id, self._intake.ignore_claims_of, self._adopt.answer, self._forward.send,
            self._problem,
        )  # fmt: skip
        self._beat = BeatLoop(
            queue, commands, self.settings.lease, self._clock, worker_id, self._become_new, lambda: self.state == "running",
            self._tick.is_able, self._publish, self._on_beat, self._tell_started, self._problem("beat"),
        )  # fmt: skip
        self._farewell = Farewell(
            queue, commands, slots, self._clock, self._registrar, worker_id, self._stats, self._problem("stop"),
        )  # fmt: skip
        self._inspect = Inspect(commands, events, lambda: find_unfit(commands, self._keys, queue.name))

    # Life.

    async def start(self) -> None:
        """
        Returns when the worker is registered, or after two seconds while Redis is away: it goes on trying then. Raises ConfigError
        when this Redis cannot keep the promises.
        """
        self.state = "running"
        self._waiting.open()
        self._commands.open()
        await self._commands.ready_within(_PATIENCE_S)
        unfit = await self._inspect.look()
        if self.state != "running":
            return
        if unfit:
            await self._waiting.close()
            await self._commands.close()
            self.state = "stopped"
            raise ConfigError(unfit_text(unfit))
        if unfit is not None:
            self._is_known = True
            await self._beat.beat_now()
            self._serve()
        else:
            self._spawn(self._serve_when_fit())

    async def stop(self, grace_s: float) -> None:
        """Takes no more work, lets what runs finish for ``grace_s``, puts the rest back. A second call may shorten the first."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(grace_s, self._grace_over.set)
        if grace_s <= 0:
            self._grace_over.set()
        if self._stopped is None:
            self._stopped = loop.create_task(self._shut_down())
        await asyncio.wait({self._stopped})
        timer.cancel()

    async def _serve_when_fit(self) -> None:
        await self._inspect.until_fit()
        self._serve()

    def _serve(self) -> None:
        if self.state != "running":
            return
        self._is_known = True
        self._beat.start()
        self._fetch.start()
        self._spawn(self._inspect.watch())

    async def _shut_down(self) -> None:
        try:
            await self._leave()
        except Exception as error:
            self._problem("stop")(error)
        self.state = "stopped"

    async def _leave(self) -> None:
        self.state = "stopping"
        self._inspect.stop()
        announced = asyncio.ensure_future(self._farewell.announce()) if self._is_known else None
        self._fetch.stop()
        await self._waiting.close()
        await self._fetch.settled()
        if announced is not None:
            await announced
        handed_back = await self._farewell.hand_back_unknown() if self._is_known else 0
        await within(asyncio.ensure_future(self._intake.idle()), None, self._grace_over)
        reason = hub_error("WorkerLost", "The worker was stopped before the task had finished.")
        abandoned = self._executor.abandon_all(reason)
        await within(asyncio.ensure_future(self._drained()), _PATIENCE_S)
        self._settle.stop()
        self._forward.stop()
        await self._beat.stop()
        await self._adopt.stop()
        await self._due.stop()
        await self._tick.stop()
        if self._is_known:
            handed_back += await self._farewell.leave()
        self._executor.stop()
        await self._nested.close()
        await self._commands.close()
        self.events.emit(
            "worker:stopped", worker=self.id, queue=self._queue.name, handed_back=handed_back, abandoned=abandoned
        )

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
        self.events.emit("lease:lost", worker=before, queue=self._queue.name, aborted=aborted)

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

    def _stats(self, seen_ms: int) -> Dict[str, Any]:
        return self._measures.stats(seen_ms, self.state != "running")

    def _on_beat(self, beat: Beat, held: Optional[List[str]]) -> None:
        self._pause.on_beat(beat)
        self._sharding.on_beat(beat.shards)
        for id in beat.cancelled:
            self._executor.abort(id, hub_error("Aborted", "The caller gave up waiting."))
        if self.state != "running":
            return
        if held is not None:
            self._spawn(self._reconcile.look(held, beat.now_us, self._beat.sent_at))
        self._adopt.on_beat(beat.ended)
        self._due.on_beat(beat)
        self._tick.on_beat(beat)

    def _moves(self, request: Request, worker_id: str, now_us: int) -> bool:
        shard = self._sharding.shard_of(request, now_us)
        if shard is not None:
            self._forward.move(request, shard, worker_id)
        return shard is not None

    def _tell_started(self) -> None:
        self.events.emit(
            "worker:started",
            worker=self.id,
            queue=self._queue.name,
            slots=self.slots.size,
            tasks=list(self._registrar._tasks),
        )

    def _on_due_bell(self) -> None:
        self._due.on_bell()
        self._tick.on_bell()

    async def _hand_back_to_others(self, ids: List[str]) -> None:
        try:
            await self._queue.handback(self._commands, self.id, "tail", ids)
        except Exception as error:
            self._problem("handback")(error)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """What fails in it is tried again by whoever began it."""
        ignore(spawn(work, self._under_way))

    def _problem(self, where: str) -> Callable[[Exception], None]:
        return lambda error: self.events.emit("problem", where=where, reason=explained(message_of(error)))
