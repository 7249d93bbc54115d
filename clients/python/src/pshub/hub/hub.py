"""The caller's object for threads."""

from __future__ import annotations

import atexit
import concurrent.futures
import math
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..figures.events import Events
from ..outlets.log import log_events
from ..outlets.statsd import send_metrics
from ..queue.pause import check_queue_name
from ..redis.target import RedisTarget
from ..settings.read import read_settings
from ..wire.errors import HubClosed, HubError, NotEnqueued
from ..wire.streams import OnProgress
from .dispatch import Dispatch
from .job_calls import JobCalls
from .loop import LoopThread, check_threads
from .named_tasks import NamedTask, NamedTasks
from .stream_calls import StreamCalls
from .stream_readers import HubStream
from .task_calls import TaskCalls

T = TypeVar("T")
#: Longer than what is asked of Redis takes to fail.
_RUN_PATIENCE_S = 10.0


class Hub(TaskCalls, StreamCalls[HubStream[Any]], JobCalls):
    """
    Calls tasks in worker processes and waits for their results, and enqueues jobs. Create one per process. All its methods are
    thread-safe; after a fork the child uses connections and an identity of its own. It holds two connections to Redis, opened by the
    first call, whatever the number of calls in flight.

    :param redis: Redis URL, or a dict of redis-py's connection options. Default: ``PSHUB_REDIS``, else redis://127.0.0.1:6379
    :param namespace: prefix of all keys. Default: ``PSHUB_NAMESPACE``, else ``pshub``
    :param name: name of the calling service, which workers see. Default: ``PSHUB_NAME``, else the name of the host
    :param max_payload_bytes: largest arguments. Default: ``PSHUB_MAX_PAYLOAD_BYTES``, else 1 MiB; a task may allow less
    :param max_backlog: requests that may wait in a queue. Default: ``PSHUB_MAX_BACKLOG``, else 10,000; a worker may allow fewer
    :param statsd: host:port of a StatsD daemon. Default: ``PSHUB_STATSD``, else none
    :raises ConfigError: for an invalid setting
    """

    def __init__(
        self,
        redis: RedisTarget | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        max_payload_bytes: int | None = None,
        max_backlog: int | None = None,
        statsd: str | None = None,
    ) -> None:
        options = {
            "redis": redis, "namespace": namespace, "name": name, "max_payload_bytes": max_payload_bytes,
            "max_backlog": max_backlog, "statsd": statsd,
        }  # fmt: skip
        check_threads()
        self._settings = read_settings("hub", options)
        self.events = Events()
        log_events(self.events)
        self._statsd = send_metrics(self.events, self._settings.statsd, self._settings.name)
        self._lock = threading.Lock()
        self._dispatch: Dispatch | None = None
        self._thread: LoopThread | None = None
        self._is_closed = False
        _hubs.add(self)

    @property
    def tasks(self) -> Any:
        """Tasks by name, for the types that ``pshub types --python`` writes: ``hub.tasks["add:1.0"].call({"a": 1})``."""
        return NamedTasks(self, NamedTask)

    def pause(self, queue: str) -> int:
        """
        Pauses a queue: within a second its workers, in any language, stop claiming requests from it. They finish their running requests
        and keep their leases. Calls wait in Redis until their deadlines, jobs until ``resume``. You can pause a queue without workers.
        Pausing twice is harmless.

        :returns: since when it is paused, Redis milliseconds
        :raises ConfigError: for an invalid queue name
        :raises HubError: NotEnqueued when Redis is unreachable or this user may not write to it; HubClosed
        """
        check_queue_name(queue)
        return self._run(lambda dispatch: dispatch.pause(queue))

    def resume(self, queue: str) -> bool:
        """
        Resumes a queue: within a second its workers claim requests again. Returns whether it was paused. Resuming twice is harmless;
        raises as ``pause``.
        """
        check_queue_name(queue)
        return self._run(lambda dispatch: dispatch.resume(queue))

    def _run(self, work: Callable[[Dispatch], Awaitable[T]], patience_s: float = 0.0) -> T:
        if self._is_closed:
            raise HubClosed("This hub was closed; make a new one.")
        thread, dispatch = self._started()
        if thread.is_current:
            raise NotEnqueued("A listener of this hub cannot wait for the hub; call it from another thread.")
        try:
            return thread.run(work(dispatch), None if patience_s == math.inf else patience_s + _RUN_PATIENCE_S)
        except HubError:
            # Some of them are of the other classes as well.
            raise
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError, RuntimeError):
            raise HubClosed("This hub was closed meanwhile.") from None

    def close(self) -> None:
        """
        Closes the hub: calls in flight fail with HubClosed or Aborted, its keys are deleted, its connections closed. In a listener or
        callback it returns at once and closes the hub afterwards.
        """
        with self._lock:
            self._is_closed = True
            thread, dispatch = self._thread, self._dispatch
            self._thread = self._dispatch = None
        if thread is None or dispatch is None or not thread.is_alive:
            return
        if thread.is_current:
            # Of a listener or callback: that thread cannot wait for itself.
            threading.Thread(target=self._end, args=(thread, dispatch), name="pshub-close").start()
        else:
            self._end(thread, dispatch)

    def _end(self, thread: LoopThread, dispatch: Dispatch) -> None:
        try:
            thread.run(dispatch.close(), 5.0)
        except Exception:
            # Its thread ends all the same; what is left in Redis goes by itself.
            pass
        thread.stop()
        if self._statsd is not None:
            self._statsd.close()

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def id(self) -> str:
        """Changes in a forked child."""
        return self._started()[1].id

    def _started(self) -> tuple[LoopThread, Dispatch]:
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

    def _reader_of(self, called: str, idle: float | None, on_progress: OnProgress | None) -> HubStream[Any]:
        return HubStream(called, idle, on_progress)

    def _begun(self) -> tuple[Callable[..., None], Dispatch]:
        thread, dispatch = self._started()
        return thread.post, dispatch

    def _forked(self) -> None:
        """In the child of a fork: threads are gone, locks may be held by those, sockets are the parent's."""
        self._lock = threading.Lock()
        if self._statsd is not None:
            self._statsd.forked()
        if self._dispatch is not None:
            self._dispatch.detach(self._thread)
        self._dispatch = self._thread = None


_hubs: weakref.WeakSet[Hub] = weakref.WeakSet()


def _after_fork() -> None:
    for hub in list(_hubs):
        hub._forked()


def _at_exit() -> None:
    for hub in list(_hubs):
        hub.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
