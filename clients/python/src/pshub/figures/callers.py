"""Who calls one task: PROTOCOL.md, section 11.1."""

from __future__ import annotations

from collections.abc import Sequence

#: So many services that call a task are counted by name.
MAX_CALLERS = 20
#: All others together. A service that calls itself so is counted among them, so that nobody can have this name.
OTHER_CALLERS = "*"


class Callers:
    """
    Calls by calling service since the start, "" where a request names none. Where all names are taken, a service that no window of
    the last minute knows makes room for a new one: its calls are among the others from then on.
    """

    __slots__ = ("_full_in", "totals")

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        #: The slice in which there was no room; until it ends there will be none.
        self._full_in = -1

    def count(self, name: str, number: int, windows: Sequence[dict[str, int]]) -> None:
        """One call more. ``windows`` are the counts of the last minute, of which the last is that of the present slice ``number``."""
        if name not in self.totals:
            name = self._room_for(name, number, windows)
        self.totals[name] = self.totals.get(name, 0) + 1
        windows[-1][name] = windows[-1].get(name, 0) + 1

    def _room_for(self, name: str, number: int, windows: Sequence[dict[str, int]]) -> str:
        if name == OTHER_CALLERS or self._full_in == number:
            return OTHER_CALLERS
        named = [each for each in self.totals if each != OTHER_CALLERS]
        if len(named) < MAX_CALLERS:
            return name
        for each in named:
            if not any(each in window for window in windows):
                self.totals[OTHER_CALLERS] = self.totals.get(OTHER_CALLERS, 0) + self.totals.pop(each)
                return name
        self._full_in = number
        return OTHER_CALLERS
