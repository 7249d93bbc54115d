"""What comes to a caller's reply list before the reply, where its request asks for that. PROTOCOL.md, section 9.10."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import ConfigError
from .foreign import is_amount
from .payload import compact

#: So many chunks may lie in Redis or in the caller untaken; hubs ask for that.
STREAM_WINDOW = 256
_MOST_WINDOW = 65_536
#: A caller says so long what it has taken before the worker takes it for gone; it says so again every TAKEN_AGAIN_S.
TAKEN_MS = 10_000
TAKEN_AGAIN_S = 3.0
_LONGEST_MESSAGE = 200
_LONGEST_TEXT = 4096


class Asked(NamedTuple):
    """What a request asks for beside its reply."""

    #: 0: the caller wants no chunks, and gets the whole result.
    window: int
    progress: bool

    @property
    def text(self) -> str:
        """Members of a request; empty where nothing is asked for."""
        return (f',"stream":{self.window}' if self.window else "") + (',"progress":true' if self.progress else "")


class Progress(NamedTuple):
    """
    Progress of a handler.

    :ivar done: units done, at least 0
    :ivar total: units in total; None if unknown
    :ivar message: message for people
    """

    done: float
    total: float | None = None
    message: str | None = None

    @property
    def text(self) -> str:
        return compact({name: value for name, value in self._asdict().items() if value is not None})


#: Is told how far a handler is.
OnProgress = Callable[[Progress], Any]


def read_asked(message: dict[str, Any]) -> Asked | None:
    """None for a request that asks for nothing, as nearly all do."""
    stream: Any = message.get("stream")
    progress = message.get("progress") is True
    window = min(int(stream), _MOST_WINDOW) if is_amount(stream) and stream == int(stream) else 0
    return Asked(window, progress) if window > 0 or progress else None


def chunk_text(id: str, chunk: int, value_json: str) -> str:
    return f'{{"id":"{id}","chunk":{chunk},"value":{value_json}}}'


def progress_text(id: str, progress: Progress) -> str:
    return f'{{"id":"{id}","progress":{progress.text}}}'


def read_part(element: dict[str, Any]) -> dict[str, Any] | None:
    """A chunk, or a progress; None for what is neither."""
    chunk: Any = element.get("chunk")
    if is_amount(chunk, 2**53 - 1) and chunk == int(chunk) and chunk > 0:
        return {"id": element["id"], "chunk": int(chunk), "value": element["value"]} if "value" in element else None
    progress = read_progress(element.get("progress"))
    return None if progress is None else {"id": element["id"], "progress": progress}


def read_progress(value: Any) -> Progress | None:
    """What anybody wrote as a progress; None for what is none."""
    if not isinstance(value, dict) or not is_amount(value.get("done")):
        return None
    total, message = value.get("total"), value.get("message")
    return Progress(value["done"], total if is_amount(total) else None, message[:_LONGEST_MESSAGE] if isinstance(message, str) else None)


def read_progress_text(raw: Any) -> Progress | None:
    if not isinstance(raw, bytes) or len(raw) > _LONGEST_TEXT:
        return None
    try:
        return read_progress(json.loads(raw))
    except (ValueError, RecursionError):
        return None


def check_progress(done: Any, total: Any, message: Any) -> Progress:
    """Raises ConfigError for what is no progress."""
    for name, value in (("done", done), ("total", total)):
        if not is_amount(value) and (name == "done" or value is not None):
            raise ConfigError(f"ctx.progress: {name} must be a number of at least 0, not {value!r:.80}.")
    if message is not None and not isinstance(message, str):
        raise ConfigError(f"ctx.progress: message must be a string, not {message!r:.80}.")
    return Progress(done, total, None if message is None else message[:_LONGEST_MESSAGE])
