"""Everything that can be observed. Subscribers turn it into log lines, metrics and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Listener = Callable[[dict[str, Any]], None]


class Events:
    """
    Named events with a dict of details each, as in the reference: ``call:settled``, ``reply:late``, ``queue:pushed``,
    ``jobs:enqueued``, ``call:retried``, ``call:cancelled``, ``schema:unused``, ``registry:unreadable``, ``claim:taken``,
    ``task:settled``, ``request:malformed``, ``request:expired``, ``request:handedback``, ``request:unserved``,
    ``request:redelivered``, ``job:retried``, ``job:dead``, ``schedule:tick``, ``task:conflict``, ``task:elsewhere``, ``worker:started``,
    ``worker:beat``, ``worker:stopped``, ``worker:lost``, ``lease:lost``, ``queue:paused``, ``queue:resumed``, ``redis:up``,
    ``redis:down``, ``problem``.
    Listeners run on the hub's or worker's own thread and must be quick; one that raises hurts nobody.
    """

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Subscribes; the returned function ends the subscription."""
        # Lists are replaced and never changed: another thread may be going through one.
        self._listeners[name] = [*self._listeners.get(name, []), listener]

        def end() -> None:
            self._listeners[name] = [known for known in self._listeners[name] if known is not listener]

        return end

    def has(self, name: str) -> bool:
        return bool(self._listeners.get(name))

    def emit(self, name: str, /, **event: Any) -> None:
        for listener in self._listeners.get(name, ()):
            try:
                listener(event)
            except BaseException:
                # A subscriber's fault is its own, sys.exit() too: it must not fail a call or stop a loop.
                pass
