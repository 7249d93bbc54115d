"""A call as its caller made it, and each try of it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, NamedTuple

from ..redis.refusals import explained
from ..task.options import MAX_TIMEOUT_S
from ..wire.clock import now_s
from ..wire.errors import Aborted, HubClosed, HubError, InvalidArgs, NotEnqueued, OutcomeUnknown, Timeout, from_wire, hub_error, why_keyed
from ..wire.ids import new_id
from ..wire.message import request_body
from ..wire.phases import Phases, phases_of
from ..wire.streams import Asked
from .arguments import CallOptions, encode_args
from .resolver import Route

#: A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline.
UNSENT_S = 1.0


class Outgoing:
    """A call from the moment it was made until its caller knows how it ended: exactly once, through ``on_settled``."""

    def __init__(
        self,
        called: str,
        args: Any,
        options: CallOptions,
        on_settled: Callable[[Any, HubError | None], None],
        context: Context | None = None,
    ) -> None:
        #: Of who called: what is called back for this call sees its context variables.
        self.context = copy_context() if context is None else context
        self.called = called
        #: Only workers of this queue count; None: of any.
        self.queue = options.queue
        self.args = args
        self.timeout_s = options.timeout
        self.traceparent = options.traceparent
        self.tracestate = options.tracestate
        self.on_settled = on_settled
        self.started_at = now_s()
        #: Known once the route is.
        self.end: float | None = None
        self.route: Route | None = None
        #: Of a queue that is spread over shards, the one of them.
        self.place = ""
        self.args_json = ""
        self.tail = ""
        self.over = False
        #: What is wanted of it before its reply, and who hears that.
        self.asked: Asked | None = None
        self.on_part: Callable[[dict[str, Any]], None] | None = None
        #: Of a stream, at its end: how many chunks its worker pushed.
        self.chunks: Any = None
        #: The present try.
        self.call: Call | None = None

    def routed(self, route: Route, max_payload_bytes: int) -> None:
        """Where it goes is known. Raises InvalidArgs or PayloadTooLarge."""
        if route.keyed:
            raise InvalidArgs(why_keyed(route.task), task=route.task)
        self.args_json = encode_args(route, self.args, min(max_payload_bytes, route.max_payload_bytes))
        self.args = None
        self.end = self.started_at + min(self.timeout_s or route.timeout_s, MAX_TIMEOUT_S)
        self.route = route
        self.place = route.queue

    def settle(self, value: Any, error: HubError | None) -> None:
        if not self.over:
            self.over = True
            self.on_settled(value, error)
            # A call that somebody keeps must not keep the caller's values alive.
            self.context = Context()


class InList(NamedTuple):
    """Where a message is in the list, as far as that is known; ``ttl_ms`` 0: its exact text is not."""

    at: str
    ttl_ms: int
    ahead: int | None


class Call:
    """One try, from the moment its request exists until it ends: by its reply, its deadline, its caller, or a refusal."""

    def __init__(self, out: Outgoing, host: Any, previous: Call | None = None, error: HubError | None = None) -> None:
        assert out.route is not None and out.end is not None
        self.id = new_id()
        self.out = out
        self.task = out.route.task
        self.queue = out.place
        # A stream that was begun cannot be begun again: its chunks would come twice.
        self.idempotent = out.route.idempotent and not (out.asked and out.asked.window)
        self.end = out.end
        self.body = request_body(self.id, self.task, self.idempotent, out.args_json, (out.asked.text if out.asked else "") + out.tail)
        self.tries: int = previous.tries + 1 if previous else 0
        self.settled = False
        #: A worker ended it, and counts it.
        self.answered = False
        #: From the moment it is written until Redis answered: it may be running.
        self.in_doubt = False
        #: Its caller gave up, or its hub was closed: it need not run any more.
        self.abandoned = False
        #: Why the last try to push it failed.
        self.setback: str | None = None
        self.pushed: InList | None = None
        self._host = host
        self._waits_since = now_s() if previous else out.started_at
        #: How an earlier try ended that may have been run; then no later one can say that it certainly was not.
        self._earlier: HubError | None = None
        if previous and error:
            self._earlier = previous._earlier if error.ran == "no" else error
        out.call = self

    @property
    def deadline(self) -> float:
        """Earlier than the call's own while its request cannot be sent."""
        if self.pushed or self.in_doubt:
            return self.end
        return min(self.end, self._waits_since + UNSENT_S)

    def enqueued(self, pushed: InList) -> None:
        self.in_doubt = False
        self.pushed = pushed

    def refused(self, code: str, message: str, data: Any = None) -> None:
        self.fail(hub_error(code, message, task=self.task, id=self.id, data=data))

    def abandon(self) -> None:
        """The caller gave up."""
        self.abandoned = True
        was_sent = self.pushed or self.in_doubt or self._earlier
        self.fail(Aborted(f"The caller stopped waiting for {self.task}.", task=self.task, id=self.id, ran=None if was_sent else "no"))

    def close(self) -> None:
        """Its hub was closed: nobody waits for the answer any more."""
        details: dict[str, Any] = {"task": self.task, "id": self.id}
        self.abandoned = True
        if self.pushed or self.in_doubt:
            self.fail(Aborted(f"The hub was closed while {self.task} was running.", **details))
        else:
            self.fail(HubClosed(**details))

    def expire(self) -> None:
        now = now_s()
        if now < self.end and not self.pushed and not self.in_doubt and self._host.is_sending(self.queue):
            # Its queue is served; it need only wait for its turn.
            self._waits_since = now
            self._host.on_postponed(self)
        elif now < self.deadline:
            self._host.on_postponed(self)
        else:
            self.fail(self._lateness())

    def answer(self, reply: dict[str, Any]) -> None:
        if self.settled:
            return
        self.answered = True
        us = phases_of(reply.get("us"))
        if reply["ok"] is not True:
            self.fail(from_wire(reply["error"], task=self.task, id=self.id), us)
            return
        self.settled = True
        self._host.on_ended(self, None, us)
        self._host.on_settled(self, None, us)
        self.out.chunks = reply.get("chunks")
        self.out.settle(reply.get("result"), None)

    def fail(self, error: HubError, us: Phases | None = None) -> None:
        if self.settled:
            return
        self.settled = True
        self._host.on_ended(self, error, us)
        if self._host.on_failed(self, error):
            return
        if error.ran == "no" and self._earlier:
            error = self._earlier
        self._host.on_settled(self, error, us)
        self.out.settle(None, error)

    def _lateness(self) -> HubError:
        """What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent."""
        waited = f"{(now_s() - self.out.started_at) * 1000:.0f} ms"
        details: dict[str, Any] = {"task": self.task, "id": self.id}
        if self.pushed:
            return Timeout(f"{self.task} did not answer within {waited}.", **details)
        if self.in_doubt:
            return OutcomeUnknown(f"Redis did not confirm the request within {waited}.", **details)
        reason = explained(self.setback or self._host.why_down(self.queue) or "it did not answer")
        return NotEnqueued(f"Redis did not accept the request within {waited}: {reason}.", **details)
