"""What callers hear of what runs before its reply: chunks, and progress. PROTOCOL.md, section 9.10."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...jobs.held_job import is_held_job
from ...queue.job_queue import JobQueue
from ...queue.queue import Queue
from ...redis.connection import Connection
from ...redis.refusals import ReplyError
from ...wire.clock import now_s, spawn
from ...wire.errors import HubError, hub_error
from ...wire.message import Request
from ...wire.streams import Progress, progress_text
from ..context import Context
from ..open_stream import OpenStream
from ..patience import Patience, may_pass

#: It is written so often at the most, however often a handler says it.
_EVERY_S = 0.25
#: What is written of a job is there for so long, and is written again every _AGAIN_S while it runs.
_KEPT_MS = 60_000
_AGAIN_S = 20.0


class _Told:
    def __init__(self, request: Request, latest: Progress) -> None:
        self.request = request
        self.latest = latest
        self.written_at = float("-inf")
        self.timer: asyncio.TimerHandle | None = None


class Hearing:
    def __init__(
        self,
        queue: Queue,
        job_queue: JobQueue,
        connection: Connection,
        worker_id: Callable[[], str],
        is_lease_certain: Callable[[], bool],
        renew_lease: Callable[[], Awaitable[Any]],
        abort: Callable[[str, HubError], None],
        post: Callable[..., None],
        problem: Callable[[str], Callable[[Exception], None]],
    ) -> None:
        self._queue = queue
        self._job_queue = job_queue
        self._connection = connection
        self._worker_id = worker_id
        self._is_lease_certain = is_lease_certain
        self._renew_lease = renew_lease
        self._abort = abort
        self._post = post
        self._on_problem = problem("progress")
        self._patience = Patience(connection, problem("stream"))
        self._open: dict[str, OpenStream] = {}
        self._told: dict[str, _Told] = {}
        self._under_way: set[asyncio.Task[Any]] = set()

    def open(self, request: Request, context: Context) -> OpenStream:
        """The stream that a request asks for. On the thread of its handler."""
        assert request.asked is not None and request.hub_id is not None
        hub_id, worker_id = request.hub_id, self._worker_id()

        async def push(texts: list[bytes]) -> bool:
            async def act() -> None:
                # Others own it by now, or nobody waits.
                if worker_id != self._worker_id() or (context.reason is not None and context.remaining <= 0):
                    return
                if not self._is_lease_certain():
                    await self._renew_lease()
                await self._queue.reply(self._connection, hub_id, texts)

            return await self._patience.until_done(act, may_pass)

        def gone() -> None:
            self._abort(request.held_id, hub_error("Aborted", "Nobody reads this stream any more: its caller is gone."))

        stream = OpenStream(
            request.id, request.asked.window, context, self._post, push,
            lambda: self._queue.taken(self._connection, hub_id, request.id), gone,
        )  # fmt: skip
        self._post(self._opened, request, context, stream)
        return stream

    def tell(self, request: Request, context: Context, progress: Progress) -> None:
        """A handler says how far it is. On its thread."""
        if is_held_job(request.held_id) or (request.asked is not None and request.asked.progress):
            self._post(self._note, request, context, progress)

    def end(self, request: Request) -> None:
        """A run has ended: its reply, or its job's record, says more."""
        self._open.pop(request.held_id, None)
        told = self._told.pop(request.held_id, None)
        if told is None:
            return
        if told.timer is not None:
            told.timer.cancel()
        if is_held_job(request.held_id):
            # Where that fails it goes by itself.
            spawn(self._tried(self._job_queue.forget_progress(self._connection, request.id)), self._under_way)

    def on_beat(self) -> None:
        for stream in list(self._open.values()):
            stream.look()
        for told in self._told.values():
            if is_held_job(told.request.held_id) and now_s() - told.written_at >= _AGAIN_S:
                self._write(told)

    def stop(self) -> None:
        self._patience.stop()

    def _opened(self, request: Request, context: Context, stream: OpenStream) -> None:
        if not context.is_over:
            self._open[request.held_id] = stream

    def _note(self, request: Request, context: Context, latest: Progress) -> None:
        if context.is_over:
            return
        told = self._told.get(request.held_id)
        if told is None:
            told = self._told[request.held_id] = _Told(request, latest)
        told.latest = latest
        wait_s = told.written_at + _EVERY_S - now_s()
        if wait_s <= 0:
            self._write(told)
        elif told.timer is None:
            told.timer = asyncio.get_running_loop().call_later(wait_s, self._write, told)

    def _write(self, told: _Told) -> None:
        if told.timer is not None:
            told.timer.cancel()
            told.timer = None
        told.written_at = now_s()
        request, latest = told.request, told.latest
        # One that is lost is made up for by the next.
        if is_held_job(request.held_id):
            work = self._job_queue.tell_progress(self._connection, request.id, latest.text, _KEPT_MS)
            spawn(self._tried(work), self._under_way)
        elif request.hub_id is not None:
            text = progress_text(request.id, latest).encode()
            spawn(self._tried(self._queue.reply(self._connection, request.hub_id, [text])), self._under_way)

    async def _tried(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except ReplyError as error:
            self._on_problem(error)
        except Exception:
            pass
