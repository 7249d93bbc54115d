"""The recent failures of a worker's tasks, for others to read: PROTOCOL.md, section 11.4."""

from __future__ import annotations

from typing import Any

from ..wire.clock import now_s
from ..wire.payload import published

_MAX_FAILURES = 10
_MAX_TASKS = 50
_MEMORY_S = 3600.0
_MAX_MESSAGE_CHARS = 300
#: Tasks that have not failed for long are left out where this many characters are full.
_MAX_CHARS = 131_072


class RecentFailures:
    """The last failures of each task of one worker. Calls that end well do not come here."""

    def __init__(self) -> None:
        #: Newest first, each with the time when it ended; the task that failed last is the last one.
        self._by_task: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        self._is_changed = False

    def keep(self, task: str, id: str, at_us: int, code: str, message: str, from_: str | None, exec_us: int) -> None:
        """``at_us`` is Redis' time now; ``message`` is what the caller was told."""
        failure: dict[str, Any] = {"id": id, "at": at_us, "code": code, "message": message[:_MAX_MESSAGE_CHARS]}
        if from_ is not None:
            failure["from"] = from_
        failure["execUs"] = exec_us
        kept = self._by_task.pop(task, [])
        if len(self._by_task) >= _MAX_TASKS:
            del self._by_task[next(iter(self._by_task))]
        self._by_task[task] = [(now_s(), failure), *kept[: _MAX_FAILURES - 1]]
        self._is_changed = True

    @property
    def is_changed(self) -> bool:
        """Also when one was forgotten since the last text."""
        self._forget()
        return self._is_changed

    def text(self) -> str:
        """Those of the tasks that failed last, as many as there is room for."""
        self._forget()
        self._is_changed = False
        texts: list[str] = []
        chars = 2
        for task in reversed(list(self._by_task)):
            text = f"{published(task)}:{published([failure for _, failure in self._by_task[task]])}"
            chars += len(text) + 1
            if chars > _MAX_CHARS:
                break
            texts.append(text)
        return "{" + ",".join(texts) + "}"

    def _forget(self) -> None:
        oldest = now_s() - _MEMORY_S
        for task, kept in list(self._by_task.items()):
            # The last one of a list is its oldest.
            if kept[-1][0] > oldest:
                continue
            recent = [each for each in kept if each[0] > oldest]
            if recent:
                self._by_task[task] = recent
            else:
                del self._by_task[task]
            self._is_changed = True
