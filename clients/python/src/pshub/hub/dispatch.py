"""The calls in flight of one hub, on one event loop: from a name and arguments to a settled call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, TypeVar

from ..catalogue.unanswered_report import UnansweredReport
from ..figures.events import Events
from ..queue.job_queue import JobQueue
from ..queue.pause import pause_queue, resume_queue
from ..redis.connection import Connection
from ..redis.connections import make_connections
from ..redis.refusals import ConnectionLost, NotConnected, ReplyError, explained
from ..settings.table import Settings
from ..task.task import DEFAULT_TIMEOUT_S
from ..wire.clock import Stop, backoff_s, ignore, now_s, start, within
from ..wire.deadlines import Deadlines
from ..wire.errors import Aborted, HubClosed, HubError, InvalidArgs, NotEnqueued, OutcomeUnknown, outcome_of
from ..wire.ids import new_id
from ..wire.keys import Keys
from ..wire.message import request_tail
from ..wire.phases import Phases
from ..wire.raised import message_of
from .call import UNSENT_S, Call, Outgoing
from .enqueuing import Enqueuing
from .inbox import Inbox
from .loop import LoopThread
from .outboxes import Outboxes
from .placement import Placement, lighter_of
from .resolver import Resolver, Route
from .retries import MAX_TRIES, RetryBudget, may_retry
from .routes import Routes
from .streams import OpenStreams

_RETRY_FIRST_S = 0.01
_RETRY_MOST_S = 0.2
#: How long close() waits for a connection to clean up over.
_CLOSE_PATIENCE_S = 1.0
#: How long what is no call waits for Redis.
_ASK_PATIENCE_S = 2.0

#: Of a parent. Never collected: ending them would speak for it.
_inherited: list[Any] = []

T = TypeVar("T")


class Dispatch:
    """Everything here but ``routes.known`` runs on its event loop's own thread."""

    def __init__(self, settings: Settings, events: Events, name: str | None = None) -> None:
        self.id = self.hub_id = new_id()
        self.settings = settings
        self.events = events
        self.keys = Keys(settings.namespace)
        self._name, self.closing = settings.name if name is None else name, Stop()
        self.commands, blocking = make_connections("hub", settings.redis, events)
        self.blocking = blocking.at(self.keys.reply(self.id))
        resolver = Resolver(self.commands, self.keys, events, Placement(self.commands, self.keys, self.ask))
        self.routes = Routes(resolver, self.commands, self.closing)
        self._outboxes = Outboxes(self.commands, self.keys, self.id, events, self.closing)
        self.unanswered = UnansweredReport(self.id, self._name, self.keys, self.commands, self.closing)
        self._pending: dict[str, Call] = {}
        #: Who waits for an answer that is no call's: that of a job.
        self._tickets: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._has_heard = False
        self._lookups: dict[Outgoing, asyncio.Task[None]] = {}
        self._deadlines = Deadlines()
        self._budget = RetryBudget()
        self._tail = self._tail_for(None, None)
        self.streams = OpenStreams(self)
        self._inbox = Inbox(
            self.blocking,
            self.keys.reply(self.id),
            self.keys.read(self.id),
            lambda: len(self._pending) + len(self._tickets) + len(self.streams),
            self._deliver,
            lambda reason: events.emit("problem", where="inbox", reason=explained(reason)),
        )
        self.enqueuing = Enqueuing(self, settings, self._name, self.keys, self.commands, self.routes, resolver, events)

    def open(self) -> None:
        self.commands.open()
        self.blocking.open()

    def begin(self, out: Outgoing) -> None:
        """Takes a call over; it settles through its ``on_settled``, never with an exception here."""
        if self.closing.is_set:
            out.settle(None, HubClosed("This hub was closed; make a new one.", task=out.called))
            return
        if out.over:
            return
        self.open()
        if out.route is None:
            route = self.routes.known(out.called, out.queue)
            if route is None:
                task = start(self._look_up(out))
                self._lookups[out] = task
                return
            try:
                out.routed(route, self.settings.max_payload_bytes)
            except HubError as error:
                self._refuse(out, error, route)
                return
        self.routes.refresh(out.called, out.queue)
        self._send(out)

    def cancel(self, out: Outgoing) -> None:
        """The caller gave up."""
        if out.over:
            return
        if out.call is not None:
            out.call.abandon()
        lookup = self._lookups.pop(out, None)
        if lookup is not None:
            lookup.cancel()
        # Between two tries, or before the first one.
        out.settle(None, Aborted(f"The caller stopped waiting before {out.called} was sent.", task=out.called, ran="no"))

    async def pause(self, queue: str) -> int:
        return await self.change(lambda commands: pause_queue(commands, self.keys, queue), f"Queue {queue} could not be paused")

    async def resume(self, queue: str) -> bool:
        return await self.change(lambda commands: resume_queue(commands, self.keys, queue), f"Queue {queue} could not be resumed")

    # What jobs ask for.

    def hear(self, ticket: str, on_reply: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Hears a reply that is no call's, until the returned function is called."""
        self.open()
        self._tickets[ticket] = on_reply
        self._has_heard = True
        self._inbox.wake()
        return lambda: self._tickets.pop(ticket, None) and None

    def queue_of(self, name: str) -> JobQueue:
        return JobQueue(name, self.keys)

    async def ask(
        self,
        work: Callable[[Connection], Awaitable[T]],
        otherwise: str = "Redis could not be queried about the job",
    ) -> T:
        """Reads. ``otherwise`` begins the message of the error. Raises NotEnqueued, HubClosed."""
        return await self._work(work, otherwise, False)

    async def change(self, work: Callable[[Connection], Awaitable[T]], otherwise: str = "The command could not be run") -> T:
        """Changes something. Raises OutcomeUnknown where it may have been done, NotEnqueued, HubClosed."""
        return await self._work(work, otherwise, True)

    async def _work(self, work: Callable[[Connection], Awaitable[T]], otherwise: str, is_change: bool) -> T:
        if self.closing.is_set:
            raise HubClosed("This hub was closed; make a new one.")
        self.open()
        await self.commands.ready_within(_ASK_PATIENCE_S, self.closing)
        try:
            return await work(self.commands)
        except (ConnectionLost, NotConnected, ReplyError) as error:
            why = explained(message_of(error))
            if is_change and isinstance(error, ConnectionLost):
                raise OutcomeUnknown(f"{otherwise}, or it was and the reply was lost: {why}.") from None
            raise NotEnqueued(f"{otherwise}: {why}.") from None

    async def close(self) -> None:
        """Settles what is in flight, takes back its requests, deletes the hub's keys."""
        if self.closing.is_set:
            return
        self.closing.set()
        for out in list(self._lookups):
            out.settle(None, HubClosed(task=out.called))
        for call in list(self._pending.values()):
            call.close()
        self._deadlines.stop()
        # For good, and not only the wait that is under way: a new connection would be made, and the end of this one told as an outage.
        await asyncio.gather(self.enqueuing.stop(), self.blocking.close(), self._inbox.stop(), self.streams.stop())
        await asyncio.gather(self._delete_keys(), self.unanswered.close())
        await self.commands.close()

    def detach(self, thread: LoopThread | None = None) -> None:
        """In a forked child: this one, and the thread that it ran on, are the parent's."""
        self.let_go()
        _inherited.append((self, thread))

    def let_go(self) -> None:
        """Lets go of its sockets without a word to the server: its loop has ended, or is another process's."""
        self.commands.detach()
        self.blocking.detach()
        self.enqueuing.detach()

    # What calls tell.

    def why_down(self, queue: str) -> str | None:
        return self._outboxes.why_down(queue)

    def is_sending(self, queue: str) -> bool:
        return self._outboxes.of(queue).is_sending

    def on_postponed(self, call: Call) -> None:
        self._deadlines.add(call)

    def on_ended(self, call: Call, error: HubError | None, us: Phases | None) -> None:
        self._pending.pop(call.id, None)
        self._deadlines.delete(call)
        outbox = self._outboxes.of(call.queue)
        outbox.in_flight -= 1
        outbox.drop(call)
        ahead = call.pushed.ahead if call.pushed else None
        if ahead is None:
            return
        if us is not None:
            outbox.forecast.learn(ahead, us.backlog / 1000, (us.queue + us.exec) / 1000)
        elif error is not None and error.code == "Timeout":
            outbox.forecast.miss(ahead, (call.end - call.out.started_at) * 1000)

    def on_failed(self, call: Call, error: HubError) -> bool:
        """True when a further try was started; that one settles the call then."""
        if not may_retry(error, call.idempotent) or call.tries + 1 >= MAX_TRIES or self.closing.is_set:
            return False
        wait = backoff_s(call.tries, _RETRY_FIRST_S, _RETRY_MOST_S)
        # A Redis that cannot be reached is tried for a second all along; its calls fail then.
        end = min(call.end, call.out.started_at + UNSENT_S) if error.code == "NotEnqueued" else call.end
        if now_s() + wait >= end or not self._budget.take():
            return False
        again = Call(call.out, self, call, error)
        self._expect(again)
        call.out.context.copy().run(lambda: self.events.emit("call:retried", task=call.task, id=call.id, next_id=again.id, code=error.code))
        asyncio.get_running_loop().call_later(wait, self._outboxes.of(call.queue).add, again)
        return True

    def on_settled(self, call: Call, error: HubError | None, us: Phases | None) -> None:
        # A worker that adopts a call counts no run of it.
        if error is not None and (not call.answered or (error.code == "WorkerLost" and us is None)):
            self.unanswered.note(call.task, call.queue, error)
        self._tell_settled(call.out.context, call.task, call.id, error, call.out.started_at, us)

    def rejected(self, context: Context, task: Any, queue: str | None, error: HubError, started_at: float) -> None:
        """Tells of a call that ended before there was a request."""
        self.unanswered.note(task, queue, error)
        self._tell_settled(context, task, None, error, started_at, None)

    def _tell_settled(self, context: Context, task: Any, id: str | None, error: HubError | None, started_at: float, us: Phases | None) -> None:
        if self.events.has("call:settled"):
            code, status = (error.code, error.http_status) if error else (None, None)
            told = {"ok": error is None, "outcome": outcome_of(code, status), "code": code}
            ms = (now_s() - started_at) * 1000
            # A copy, since this may be within a callback of the same call.
            context.copy().run(lambda: self.events.emit("call:settled", task=task, id=id, **told, ms=ms, us=us))

    # The way of a call.

    async def _look_up(self, out: Outgoing) -> None:
        route: Route | None = None
        try:
            timeout_s = out.timeout_s or DEFAULT_TIMEOUT_S
            deadline = out.started_at + min(timeout_s, 1.0)
            route = await self.routes.find(out.called, out.queue, deadline, latest=out.started_at + timeout_s)
            if not out.over:
                out.routed(route, self.settings.max_payload_bytes)
                self._send(out)
        except HubError as error:
            self._refuse(out, error, route)
        except Exception as error:
            wrong = InvalidArgs(f"{out.called} could not be called: {message_of(error)}", task=out.called)
            self._refuse(out, wrong, route)
        finally:
            self._lookups.pop(out, None)

    def _refuse(self, out: Outgoing, error: HubError, route: Route | None) -> None:
        """It ends before there was a request."""
        if not out.over:
            self.rejected(out.context, route.task if route else out.called, route.queue if route else None, error, out.started_at)
        out.settle(None, error)

    def _send(self, out: Outgoing) -> None:
        route = out.route
        assert route is not None
        self._budget.on_call()
        slots = route.slots
        if route.spread is not None:
            out.place = lighter_of(route.spread, route.queue, self.why_down, self._outboxes.in_flight)
            slots = route.spread.live.get(out.place, slots)
        outbox = self._outboxes.of(out.place)
        outbox.max_length = min(self.settings.max_backlog, route.max_backlog)
        outbox.forecast.slots = slots
        out.tail = self._tail if out.traceparent is None else self._tail_for(out.traceparent, out.tracestate)
        call = Call(out, self)
        self._expect(call)
        outbox.add(call)

    def _expect(self, call: Call) -> None:
        self._pending[call.id] = call
        self._outboxes.of(call.queue).in_flight += 1
        self._deadlines.add(call)
        self._inbox.wake()

    def _deliver(self, reply: dict[str, Any], again: bool) -> None:
        call = self._pending.get(reply["id"])
        if "ok" not in reply:
            if call is not None and call.out.on_part is not None:
                call.out.on_part(reply)
        elif call is not None:
            call.answer(reply)
        elif reply["id"] in self._tickets:
            self._tickets[reply["id"]](reply)
        elif not again:
            self.events.emit("reply:late", id=reply["id"])

    def _tail_for(self, traceparent: str | None, tracestate: str | None) -> str:
        return request_tail(self.keys.reply(self.id), self._name, traceparent, tracestate)

    async def _delete_keys(self) -> None:
        """What is left when Redis is away expires by itself."""
        pushed = self._outboxes.used_keys()
        if pushed or self._has_heard:
            pushed += [self.keys.reply(self.id), self.keys.read(self.id)]
        keys = [*pushed, *self.enqueuing.used_keys()]
        if not keys:
            return
        await self.commands.ready_within(_CLOSE_PATIENCE_S)
        await self._outboxes.over(_CLOSE_PATIENCE_S)
        posted = self.commands.post(*(("UNLINK", key) for key in keys))
        ignore(posted)
        await within(posted, _CLOSE_PATIENCE_S)
