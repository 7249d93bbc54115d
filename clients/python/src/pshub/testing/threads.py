"""The threads of this process, as the system has them: one that was woken and has had no turn yet is known as such nowhere else."""

from __future__ import annotations

import os

_FOLDER = "/proc/self/task"


class Threads:
    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    @property
    def are_busy(self) -> bool:
        """Some thread beside this one runs, or is about to. False where the system does not tell."""
        try:
            return sum(map(self._runs, os.listdir(_FOLDER))) > 1
        except OSError:
            return False

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _runs(self, id: str) -> bool:
        try:
            file = self._files.get(id)
            if file is None:
                file = self._files[id] = os.open(f"{_FOLDER}/{id}/stat", os.O_RDONLY)
            # Behind its name, which may hold anything.
            return b") R " in os.pread(file, 128, 0)
        except OSError:
            # It has ended.
            ended = self._files.pop(id, None)
            if ended is not None:
                os.close(ended)
            return False
