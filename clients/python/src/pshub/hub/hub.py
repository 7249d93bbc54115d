"""The caller's objects: Hub for threads, AsyncHub for an event loop, the same inside."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from typing import Any, Awaitable, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, TypeVar, Union

from ..figures.events import Events
from ..outlets.log import log_events
from ..outlets.statsd import send_metrics
from ..queue.pause import check_queue_name
from ..settings.table import RedisTarget, read_settings
from ..wire.clock import now_s
from ..wire.errors import HubClosed, HubError, NotEnqueued
from .call import Outgoing, wrong_arguments
from .dispatch import HubCore
from .loop import LoopThread
from .pending import Outcome, PendingCall

#: What is called: ``name:1.0`` (exactly that version), ``name:1`` (the newest live 1.x), ``name`` (the newest live one), or a task.
Called = Union[str, Any]

_MISSING: Any = object()

T = TypeVar("T")
#: Longer than what is asked of Redis takes to fail.
_RUN_PATIENCE_S = 10.0


def _arguments(args: Any, named: Mapping[str, Any]) -> Any:
    if args is _MISSING:
        return dict(named)
    if named:
        raise TypeError("Give the arguments by name or as one value, not both.")
    return args


def name_of(called: Called) -> Any:
    name = getattr(called, "name", called)
    return getattr(name, "full", name)


class _Entry(NamedTuple):
    """One call of a gather."""

    called: Any
    args: Any = {}
    timeout: Optional[float] = None
    queue: Optional[str] = None

    def options(self, timeout: Optional[float], queue: Optional[str]) -> Dict[str, Any]:
        """Its own, and of those that it does not name these."""
        return {
            "timeout": timeout if self.timeout is None else self.timeout,
            "queue": queue if self.queue is None else self.queue,
        }


def _entries(calls: Optional[Mapping[str, Any]], named: Mapping[str, Any]) -> Dict[str, _Entry]:
    entries = {}
    for key, entry in {**(calls or {}), **named}.items():
        if isinstance(entry, (str, bytes)) or not isinstance(entry, (tuple, list)):
            entry = (entry,)
        if not 1 <= len(entry) <= 4:
            raise TypeError(f"gather: {key!r} must be (task,), (task, args), (task, args, timeout) or with a queue behind that.")
        entries[key] = _Entry(*entry)
    return entries


def _wrong_call(called: Any, timeout: Any, queue: Any, is_closed: bool) -> Optional[HubError]:
    """Why a call cannot be made at all, of this hub or of any."""
    wrong = wrong_arguments(called, timeout, queue)
    return HubClosed("This hub was closed; make a new one.", task=called) if wrong is None and is_closed else wrong


class Hub:
    """
    Calls tasks in worker processes and waits for their results. One per process; all its methods may be used from any thread, and
    after a fork the child's calls go over connections and an identity of its own. It holds two connections to Redis, which are
    made by the first call, whatever the number of calls in flight.

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
        self._core: Optional[HubCore] = None
        self._thread: Optional[LoopThread] = None
        self._pid = os.getpid()
        self._is_closed = False
        _hubs.add(self)

    def call(
        self,
        task: Called,
        args: Any = _MISSING,
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

        :param task: ``name:1.0``, ``name:1`` or ``name``; or what ``@task`` made
        :param args: any JSON value; or give the arguments by name
        :param timeout: seconds; default: the task's own, 5 s unless it says otherwise
        :param queue: only workers of this queue count; default: the queue that had the task first, while it has live workers, else
            another one
        :param traceparent: W3C trace context to pass on
        :param tracestate: goes along with it
        :raises HubError: by its deadline at the latest; the class says what happened, ``ran`` whether calling again is safe
        """
        args = _arguments(args, named)
        return self.submit(
            task, args, timeout=timeout, queue=queue, traceparent=traceparent, tracestate=tracestate
        ).result()

    def submit(
        self,
        task: Called,
        args: Any = _MISSING,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> PendingCall:
        """The same without waiting: call ``result()`` of what it returns, or ``cancel()``. Raises only TypeError."""
        args = _arguments(args, named)
        called = name_of(task)
        wrong = _wrong_call(called, timeout, queue, self._is_closed)
        if wrong is not None:
            pending = PendingCall(None, None)
            pending._settle(None, wrong)
            return pending
        thread, core = self._started()
        pending = PendingCall(thread, core)
        out = pending.out = Outgoing(called, args, timeout, traceparent, pending._settle, tracestate, queue)
        route = core.routes.known(called, queue)
        if route is not None:
            try:
                # Here and not on the hub's thread: encoding and checking is work.
                out.routed(route, self._settings.max_payload_bytes)
            except HubError as error:
                out.settle(None, error)
                return pending
        thread.post(core.begin, out)
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
        for key, entry in _entries(calls, named).items():
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
        return self._run(lambda core: core.pause(queue))

    def resume(self, queue: str) -> bool:
        """
        Ends the pause of a queue: within a second its workers go on. Returns whether it was paused. Repeating it is harmless;
        raises as ``pause``.
        """
        check_queue_name(queue)
        return self._run(lambda core: core.resume(queue))

    def _run(self, work: Callable[[HubCore], Awaitable[T]]) -> T:
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        thread, core = self._started()
        if thread.is_current:
            raise NotEnqueued("A listener of this hub cannot wait for it; ask from another thread.")
        try:
            return thread.run(work(core), _RUN_PATIENCE_S)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError, RuntimeError):
            raise HubClosed("This hub was closed meanwhile.") from None

    def close(self) -> None:
        """Ends the hub: calls in flight end as HubClosed or Aborted, its keys are deleted, its connections closed."""
        with self._lock:
            self._is_closed = True
            thread, core = self._thread, self._core
            self._thread = self._core = None
        if thread is None or core is None or not thread.is_alive:
            return
        try:
            thread.run(core.close(), 5.0)
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

    def _started(self) -> Tuple[LoopThread, HubCore]:
        thread, core = self._thread, self._core
        if thread is not None and core is not None:
            return thread, core
        with self._lock:
            if self._thread is None or self._core is None:
                self._core = HubCore(self._settings, self.events)
                self._thread = LoopThread("pshub-hub")
                # Redis is connected to while the first call is made ready.
                self._thread.post(self._core.open)
            return self._thread, self._core

    def _forked(self) -> None:
        """In the child of a fork: threads are gone, locks may be held by those, sockets are the parent's."""
        self._lock = threading.Lock()
        if self._core is not None:
            self._core.detach()
            # Never collected: ending them would speak for the parent.
            _inherited.append((self._core, self._thread))
        self._core = self._thread = None


class AsyncHub:
    """
    The same for asyncio: everything runs on the event loop that it is first used in, without a thread. Cancelling a task that
    awaits a call gives the call up.

    :param redis: as of Hub
    """

    def __init__(self, redis: Optional[RedisTarget] = None, **options: Any) -> None:
        self._settings = read_settings("hub", {"redis": redis, **options})
        self.events = Events()
        log_events(self.events)
        self._statsd = send_metrics(self.events, self._settings.statsd)
        self._core: Optional[HubCore] = None
        self._owner: Tuple[int, Optional[asyncio.AbstractEventLoop]] = (0, None)
        self._is_closed = False

    async def call(
        self,
        task: Called,
        args: Any = _MISSING,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        traceparent: Optional[str] = None,
        tracestate: Optional[str] = None,
        **named: Any,
    ) -> Any:
        """As of Hub."""
        args = _arguments(args, named)
        called = name_of(task)
        wrong = _wrong_call(called, timeout, queue, self._is_closed)
        if wrong is not None:
            raise wrong
        core = self._started()
        future: "asyncio.Future[Any]" = asyncio.get_running_loop().create_future()

        def settle(value: Any, error: Optional[HubError]) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        out = Outgoing(called, args, timeout, traceparent, settle, tracestate, queue)
        core.begin(out)
        try:
            return await future
        except asyncio.CancelledError:
            core.cancel(out)
            raise

    async def gather(
        self,
        calls: Optional[Mapping[str, Any]] = None,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        **named: Any,
    ) -> Dict[str, Outcome]:
        """As of Hub."""

        async def one(entry: _Entry) -> Outcome:
            started_at = now_s()
            try:
                value = await self.call(entry.called, entry.args, **entry.options(timeout, queue))
                return Outcome(True, value, None, (now_s() - started_at) * 1000)
            except HubError as error:
                return Outcome(False, None, error, (now_s() - started_at) * 1000)

        entries = _entries(calls, named)
        outcomes = await asyncio.gather(*(one(entry) for entry in entries.values()))
        return dict(zip(entries, outcomes))

    async def pause(self, queue: str) -> int:
        """As of Hub."""
        check_queue_name(queue)
        return await self._asked().pause(queue)

    async def resume(self, queue: str) -> bool:
        """As of Hub."""
        check_queue_name(queue)
        return await self._asked().resume(queue)

    def _asked(self) -> HubCore:
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        return self._started()

    async def close(self) -> None:
        """As of Hub."""
        self._is_closed = True
        core, self._core = self._core, None
        if core is not None:
            await core.close()
        if self._statsd is not None:
            self._statsd.flush()

    async def __aenter__(self) -> "AsyncHub":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _started(self) -> HubCore:
        owner = (os.getpid(), asyncio.get_running_loop())
        if self._core is None or self._owner != owner:
            if self._core is not None and self._owner[0] != owner[0]:
                self._core.detach()
                _inherited.append((self._core, None))
            self._core = HubCore(self._settings, self.events)
            self._owner = owner
        return self._core


_hubs: "weakref.WeakSet[Hub]" = weakref.WeakSet()
_inherited: List[Any] = []


def _after_fork() -> None:
    for hub in list(_hubs):
        hub._forked()


def _at_exit() -> None:
    for hub in list(_hubs):
        hub.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
