"""The servers of one hub or worker, which its connections share."""

from __future__ import annotations

from collections.abc import Callable

from .reach import FirstReach, Reach
from .sentinels import MasterReach, Sentinels
from .slot_map import SlotMap
from .target import RedisTarget, read_target

#: Of redis-py's options those that say where a server is.
_OF_ONE = ("host", "port", "path", "db")


class Servers:
    def __init__(self, target: RedisTarget) -> None:
        place = self._place = read_target(target)
        self._sentinels = Sentinels(place) if place.kind == "sentinel" else None
        #: None while they are no Cluster, as far as it is known.
        self.slot_map: SlotMap | None = SlotMap(place.nodes, place.options) if place.kind == "cluster" else None

    def reach(self, on_greeting: Callable[[bool], None]) -> Reach:
        """For one connection that is not to a node of a Cluster, or to the first one. ``on_greeting``: see there."""
        if self._sentinels is not None:
            return MasterReach(self._sentinels)
        return FirstReach(self._place.options, on_greeting)

    def begin_cluster(self) -> SlotMap:
        """The server that was named turned out to be a node of one."""
        if self.slot_map is None:
            options = {key: value for key, value in self._place.options.items() if key not in _OF_ONE}
            if "path" in self._place.options:
                # The others are reached over the network, whatever this one is reached by.
                options.pop("connection_class", None)
            self.slot_map = SlotMap([Reach(self._place.options).address], options)
        return self.slot_map


def servers_of(target: RedisTarget | Servers) -> Servers:
    return target if isinstance(target, Servers) else Servers(target)
