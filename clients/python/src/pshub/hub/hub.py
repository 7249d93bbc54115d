"""The caller's object for threads."""

from __future__ import annotations

import atexit
import concurrent.futures
import math
import os
import threading
import weakref
from typing import Any, Awaitable, Callable, Dict, Mapping, Optional, Tuple, TypeVar, overload

from ..figures.events import Events
from ..outlets.log import log_events
from ..outlets.statsd import send_metrics
from ..queue.pause import check_queue_name
from ..redis.target import RedisTarget
from ..settings.read import read_settings
from ..task.task import R, Task
from ..wire.errors import HubClosed, HubError, NotEnqueued
from .arguments import MISSING, Called, arguments_of, name_of, reader_of, wrong_call
from .call import Outgoing
from .dispatch import Dispatch
from .gather import Outcome, entries_of
from .job_calls import JobCalls
from .loop import LoopThread
from .pending import PendingCall

T = TypeVar("T")
#: Longer than what is asked of Redis takes to fail.
_RUN_PATIENCE_S = 10.0


class Hub(JobCalls):
    """
    Calls tasks in worker processes and waits for their results, and enqueues jobs. One per process; all its methods may be used from
    any thread, and after a fork the child's calls go over connections and an identity of its own. It holds two connections to Redis,
    which are made by the first call, whatever the number of calls in flight.

    :param redis: Redis URL, or a dict of redis-py's connection options. Default: ``PSHUB_REDIS``, else redis://127.0.0.1:6379
    :param options: ``namespace``, ``name`` (of the calling service), ``max_payload_bytes``, ``max_backlog``, ``statsd`` (host:port)
    :raises ConfigError: for a setting that cannot work
    """

    def __init__(self, redis: Optional[RedisTarget] = None, **options: Any) -> None:
        self._settings = read_settings("hub", {"redis": redis, **options})
        self.events = Events()
        log_events(self.events)
        self._statsd = send_metrics(self.events, self._settings.statsd)
        self._lock = threading.Lock()
        self._dispatch: Optional[Dispatch] = None
        self._thread: Optional[LoopThread] = None
        self._is_closed = False
        _hubs.add(self)

    @overload
    def call(
        self,
        task: Task[R],
        args: Any = ...,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> R: ...

    @overload
    def call(
        self,
        task: str,
        args: Any = ...,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> Any: ...

    def call(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> Any:
        """
        Calls a task and waits for its result.

        :param task: ``name:1.0``, ``name:1`` or ``name``; or what ``@task`` made: then the result is what its function's hint says
        :param args: any JSON value; or give the arguments by name
        :param timeout: seconds; default: the task's own, 5 s unless it says otherwise
        :param queue: only workers of this queue count; default: the queue that had the task first, while it has live workers, else
            another one
        :param traceparent: W3C trace context to pass on
        :param tracestate: goes along with it
        :raises HubError: by its deadline at the latest; the class says what happened, ``ran`` whether calling again is safe
        """
        return self.submit(
            task, args, timeout=timeout, queue=queue, traceparent=traceparent, tracestate=tracestate, **named
        ).result()

    @overload
    def submit(
        self,
        task: Task[R],
        args: Any = ...,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> PendingCall[R]: ...

    @overload
    def submit(
        self,
        task: str,
        args: Any = ...,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> PendingCall[Any]: ...

    def submit(
        self,
        task: Called,
        args: Any = MISSING,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> PendingCall[Any]:
        """The same without waiting: call ``result()`` of what it returns, or ``cancel()``. Raises only TypeError."""
        args = arguments_of(args, named)
        called = name_of(task)
        wrong = wrong_call(called, timeout, queue, self._is_closed)
        if wrong is not None:
            pending: PendingCall[Any] = PendingCall(None, None)
            pending._settle(None, wrong)
            self._note(called, None, wrong)
            return pending
        thread, dispatch = self._started()
        pending = PendingCall(thread, dispatch, reader_of(task))
        out = pending.out = Outgoing(called, args, timeout, traceparent, pending._settle, tracestate, queue)
        route = dispatch.routes.known(called, queue)
        if route is not None:
            try:
                # Here and not on the hub's thread: encoding and checking is work.
                out.routed(route, self._settings.max_payload_bytes)
            except HubError as error:
                out.settle(None, error)
                self._note(route.task, route.queue, error)
                return pending
        thread.post(dispatch.begin, out)
        return pending

    def gather(
        self,
        calls: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        **named: Any,
    ) -> Dict[str, Outcome]:
        """
        Makes many calls at once and waits until each has ended; one that fails spoils none.

        :param calls: by names of your own: ``(task, args)``, ``(task, args, timeout)``, ``(task, args, timeout, queue)`` or a task;
            or give them by name
        :param timeout: for those that name none of their own
        :param queue: the same
        """
        pending = {}
        for key, entry in entries_of(calls, named).items():
            pending[key] = self.submit(entry.called, entry.args, **entry.options(timeout, queue))
        return {key: each.outcome() for key, each in pending.items()}

    def pause(self, queue: str) -> int:
        """
        Pauses a queue: within a second its workers, in every language, take nothing more from it. They finish what they hold and
        keep their leases; calls and jobs wait in Redis, calls until their deadlines. A queue that nobody serves can be paused too:
        workers that come later find it so. It stays paused until ``resume``. Repeating it is harmless.

        :returns: since when it is paused, Redis milliseconds: the time of an earlier pause that still goes on
        :raises ConfigError: for what is not the name of a queue
        :raises HubError: NotEnqueued when Redis is away or this user may not write it; HubClosed
        """
        check_queue_name(queue)
        return self._run(lambda dispatch: dispatch.pause(queue))

    def resume(self, queue: str) -> bool:
        """
        Ends the pause of a queue: within a second its workers go on. Returns whether it was paused. Repeating it is harmless;
        raises as ``pause``.
        """
        check_queue_name(queue)
        return self._run(lambda dispatch: dispatch.resume(queue))

    def _note(self, task: Any, queue: Optional[str], error: HubError) -> None:
        """Tells of a call that ended on its caller's thread."""
        thread, dispatch = self._thread, self._dispatch
        if thread is not None and dispatch is not None:
            thread.post(dispatch.refusals.note, task, queue, error)

    def _run(self, work: Callable[[Dispatch], Awaitable[T]], patience_s: float = 0.0) -> T:
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        thread, dispatch = self._started()
        if thread.is_current:
            raise NotEnqueued("A listener of this hub cannot wait for it; ask from another thread.")
        try:
            return thread.run(work(dispatch), None if patience_s == math.inf else patience_s + _RUN_PATIENCE_S)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError, RuntimeError):
            raise HubClosed("This hub was closed meanwhile.") from None

    def close(self) -> None:
        """Ends the hub: calls in flight end as HubClosed or Aborted, its keys are deleted, its connections closed."""
        with self._lock:
            self._is_closed = True
            thread, dispatch = self._thread, self._dispatch
            self._thread = self._dispatch = None
        if thread is None or dispatch is None or not thread.is_alive:
            return
        try:
            thread.run(dispatch.close(), 5.0)
        except Exception:
            # Its thread ends all the same; what is left in Redis goes by itself.
            pass
        thread.stop()
        if self._statsd is not None:
            self._statsd.flush()

    def __enter__(self) -> "Hub":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def id(self) -> str:
        """Changes in a forked child."""
        return self._started()[1].id

    def _started(self) -> Tuple[LoopThread, Dispatch]:
        thread, dispatch = self._thread, self._dispatch
        if thread is not None and dispatch is not None:
            return thread, dispatch
        with self._lock:
            if self._thread is None or self._dispatch is None:
                self._dispatch = Dispatch(self._settings, self.events)
                self._thread = LoopThread("pshub-hub")
                # Redis is connected to while the first call is made ready.
                self._thread.post(self._dispatch.open)
            return self._thread, self._dispatch

    def _forked(self) -> None:
        """In the child of a fork: threads are gone, locks may be held by those, sockets are the parent's."""
        self._lock = threading.Lock()
        if self._dispatch is not None:
            self._dispatch.detach(self._thread)
        self._dispatch = self._thread = None


_hubs: "weakref.WeakSet[Hub]" = weakref.WeakSet()


def _after_fork() -> None:
    for hub in list(_hubs):
        hub._forked()


def _at_exit() -> None:
    for hub in list(_hubs):
        hub.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
