"""Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command."""

from __future__ import annotations

from collections.abc import Callable

from ...figures.events import Events
from ...wire.answers import Beat


class Pause:
    def __init__(
        self,
        queue_name: str,
        events: Events,
        worker_id: Callable[[], str],
        hold: Callable[[], None],
        go_on: Callable[[], None],
    ) -> None:
        self._queue_name = queue_name
        self._events = events
        self._worker_id = worker_id
        #: Takes nothing from now on; said with each beat of a pause.
        self._hold = hold
        self._go_on = go_on
        self._is_paused = False

    def on_beat(self, beat: Beat) -> None:
        was_paused, self._is_paused = self._is_paused, beat.paused_ms is not None
        told = {"worker": self._worker_id(), "queue": self._queue_name}
        if self._is_paused:
            self._hold()
            if not was_paused:
                self._events.emit("queue:paused", **told, paused_ms=beat.paused_ms)
        elif was_paused:
            self._go_on()
            self._events.emit("queue:resumed", **told)
