"""The ways of one hub's jobs into queues."""

from __future__ import annotations

from collections.abc import Callable

from ..redis.connection import Connection
from ..wire.keys import Keys
from .job import JobHost
from .job_outbox import JobOutbox


class JobOutboxes:
    """
    Those that are to be confirmed by a replica have numbers and a connection of their own, made with the first of them: WAIT holds up all
    that is sent behind it.
    """

    def __init__(self, host: JobHost, keys: Keys, commands: Connection, make_durable: Callable[[], Connection]) -> None:
        self._host = host
        self._keys = keys
        self._commands = commands
        #: Makes the connection for jobs that are to be on a replica, too.
        self._make_durable = make_durable
        self._plain: dict[str, JobOutbox] = {}
        self._durable: dict[str, JobOutbox] = {}
        self._connection: Connection | None = None

    def of(self, queue: str, is_durable: bool) -> JobOutbox:
        outboxes = self._durable if is_durable else self._plain
        outbox = outboxes.get(queue)
        if outbox is None:
            outbox = outboxes[queue] = self._make(queue, is_durable)
        return outbox

    async def stop(self) -> None:
        """Nobody will hear of what is not answered by now."""
        for outbox in [*self._plain.values(), *self._durable.values()]:
            outbox.stop()
        if self._connection is not None:
            await self._connection.close()

    def detach(self) -> None:
        """In a forked child."""
        if self._connection is not None:
            self._connection.detach()

    def used_keys(self) -> list[str]:
        """The keys that are left in Redis."""
        own = ((self._plain, self._host.hub_id), (self._durable, _durable_id(self._host.hub_id)))
        return [self._keys.queue(name).enqueued(hub_id) for outboxes, hub_id in own for name, outbox in outboxes.items() if outbox.used]

    def _make(self, name: str, is_durable: bool) -> JobOutbox:
        host = self._host
        connection, hub_id = self._commands, host.hub_id
        if is_durable:
            if self._connection is None:
                self._connection = self._make_durable()
                # A hub that is being closed opens nothing any more.
                if not host.closing.is_set:
                    self._connection.open()
            connection, hub_id = self._connection, _durable_id(hub_id)
        here = connection.at(self._keys.queue(name).jobs, waits=False)
        return JobOutbox(here, host.queue_of(name), hub_id, host.closing, is_durable)


def _durable_id(hub_id: str) -> str:
    """As whom a hub numbers them: a repeat of the one kind must not be taken for one of the other."""
    return f"{hub_id}-durable"
