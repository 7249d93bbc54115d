"""The calls of a hub that no worker ended, for others to read: PROTOCOL.md, section 11.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..wire.errors import HubError
from ..wire.payload import published

_MAX_TASKS = 50
_MAX_MESSAGE_CHARS = 300
_MAX_TASK_CHARS = 256
#: Tasks that had none for longest are left out where this many characters are full.
_MAX_CHARS = 65_536
_SLICE_MS = 10_000
_SLICES = 6
#: Whoever calls ended these by themselves: nothing is wrong.
_OWN = ("HubClosed", "Aborted")


class _Counted:
    """The calls of one task that ended with one code."""

    def __init__(self) -> None:
        self.count = 0
        self.ended_at = 0.0
        self.message = ""
        self.id: str | None = None
        #: Number of the slice of time -> calls.
        self.slices: dict[int, int] = {}


class Unanswered:
    """Counts the calls of one hub that no worker ended. Time is in monotonic milliseconds and given by the caller."""

    def __init__(self) -> None:
        #: Task -> its queue, where that is known, and its calls by code. The task that had one last is the last one.
        self._tasks: dict[str, tuple[str | None, dict[str, _Counted]]] = {}
        self._is_new = False
        self._slice = 0

    def count(self, called: str, queue: str | None, error: HubError, now_ms: float) -> None:
        if error.kind in _OWN:
            return
        task = called[:_MAX_TASK_CHARS]
        known_queue, codes = self._tasks.pop(task, (None, {}))
        if len(self._tasks) >= _MAX_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[task] = (known_queue if queue is None else queue, codes)
        counted = codes.setdefault(error.kind, _Counted())
        counted.count += 1
        counted.ended_at = now_ms
        counted.message = error.message[:_MAX_MESSAGE_CHARS]
        counted.id = error.id
        at = int(now_ms // _SLICE_MS)
        counted.slices[at] = counted.slices.get(at, 0) + 1
        self._is_new = True

    def is_changed(self, now_ms: float) -> bool:
        """Whether what would be written differs from what was: never while there was none for more than a minute."""
        return self._is_new or (now_ms // _SLICE_MS != self._slice and self.has_recent)

    @property
    def has_recent(self) -> bool:
        """Whether any is in the window, or not told yet."""
        return self._is_new or any(counted.slices for counted in self._counted())

    def again(self) -> None:
        """What was told did not arrive."""
        self._is_new = True

    def text(self, now_ms: float, redis_now_ms: int, name: str, host: str, pid: int) -> str:
        """The tasks that had one last, as many as there is room for. ``name`` is the service."""
        self._is_new = False
        self._slice = int(now_ms // _SLICE_MS)
        for counted in self._counted():
            counted.slices = {at: calls for at, calls in counted.slices.items() if at > self._slice - _SLICES}
        head = published({"seen": redis_now_ms, "name": name, "host": host, "pid": pid, "tasks": []})[:-2]
        texts: list[str] = []
        chars = len(head) + 2
        for task, (queue, codes) in reversed(list(self._tasks.items())):
            told: dict[str, Any] = {"task": task}
            if queue is not None:
                told["queue"] = queue
            told["codes"] = [_told(code, counted, redis_now_ms - now_ms) for code, counted in codes.items()]
            text = published(told)
            chars += len(text) + 1
            if chars > _MAX_CHARS:
                break
            texts.append(text)
        return f"{head}{','.join(texts)}]}}"

    def _counted(self) -> Iterator[_Counted]:
        return (counted for _, codes in self._tasks.values() for counted in codes.values())


def _told(code: str, counted: _Counted, to_redis_ms: float) -> dict[str, Any]:
    told = {
        "code": code,
        "lastMinute": sum(counted.slices.values()),
        "count": counted.count,
        "atMs": round(counted.ended_at + to_redis_ms),
        "message": counted.message,
    }
    return told if counted.id is None else {**told, "id": counted.id}
