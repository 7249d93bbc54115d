"""The log that handlers write."""

from __future__ import annotations

import logging
from typing import Any

from .log import Line, logger


class TaskLog:
    """The log that a handler sees: each line carries its task and request id."""

    __slots__ = ("_marks",)

    def __init__(self, task: str, id: str) -> None:
        self._marks = {"task": task, "id": id}

    def _log(self, level: int, message: str, fields: dict[str, Any]) -> None:
        if logger.isEnabledFor(level):
            logger.log(level, Line(message, {**self._marks, **fields}))

    def debug(self, message: str, **fields: Any) -> None:
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._log(logging.ERROR, message, fields)
