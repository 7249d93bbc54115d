"""Tasks by their names, with the types that ``pshub types --python`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..wire.streams import OnProgress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..jobs.blocking import Job
    from ..jobs.enqueue_options import EnqueueOptions
    from ..jobs.job import AsyncJob
    from .stream_readers import AsyncHubStream, HubStream

A = TypeVar("A", contravariant=True)
R = TypeVar("R", covariant=True)
C = TypeVar("C", covariant=True)


class NamedTask(Generic[A, R, C]):
    """
    A task of a hub, ``hub.tasks["add:1.0"]``. Overloads of the hub's own methods would have a type checker print all tasks for one
    wrong argument.
    """

    def __init__(self, hub: Any, name: str) -> None:
        self._hub = hub
        self._name = name

    def call(self, args: A, /, *, timeout: float | None = None, queue: str | None = None, on_progress: OnProgress | None = None) -> R:
        result: R = self._hub.call(self._name, args, timeout=timeout, queue=queue, on_progress=on_progress)
        return result

    def stream(
        self,
        args: A,
        /,
        *,
        timeout: float | None = None,
        idle: float | None = None,
        queue: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> HubStream[C]:
        stream: HubStream[C] = self._hub.stream(self._name, args, timeout=timeout, idle=idle, queue=queue, on_progress=on_progress)
        return stream

    def enqueue(self, args: A, /, **options: Unpack[EnqueueOptions]) -> Job[R]:
        job: Job[R] = self._hub.enqueue(self._name, args, **options)
        return job


class AsyncNamedTask(Generic[A, R, C]):
    """As NamedTask, of an AsyncHub."""

    def __init__(self, hub: Any, name: str) -> None:
        self._hub = hub
        self._name = name

    async def call(self, args: A, /, *, timeout: float | None = None, queue: str | None = None, on_progress: OnProgress | None = None) -> R:
        result: R = await self._hub.call(self._name, args, timeout=timeout, queue=queue, on_progress=on_progress)
        return result

    def stream(
        self,
        args: A,
        /,
        *,
        timeout: float | None = None,
        idle: float | None = None,
        queue: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> AsyncHubStream[C]:
        stream: AsyncHubStream[C] = self._hub.stream(self._name, args, timeout=timeout, idle=idle, queue=queue, on_progress=on_progress)
        return stream

    async def enqueue(self, args: A, /, **options: Unpack[EnqueueOptions]) -> AsyncJob[R]:
        job: AsyncJob[R] = await self._hub.enqueue(self._name, args, **options)
        return job


class NamedTasks:
    """Has a task for every name, whether or not a worker knows it."""

    def __init__(self, hub: Any, kind: type[NamedTask[Any, Any, Any]] | type[AsyncNamedTask[Any, Any, Any]]) -> None:
        self._hub = hub
        self._kind = kind

    def __getitem__(self, name: str) -> Any:
        return self._kind(self._hub, name)
