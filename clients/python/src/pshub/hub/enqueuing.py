"""Jobs, from a name and arguments to what is acknowledged in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..figures.events import Events
from ..jobs.chain import Step, step_message
from ..jobs.enqueue_options import (
    DEFAULT_ENQUEUE_MS,
    check_key_text,
    check_of_one,
    combined,
    payload_text,
    place_of,
    shape_of,
)
from ..jobs.job import AsyncJob, JobHost
from ..jobs.job_key import AsyncJobKey
from ..jobs.job_outbox import weight_of
from ..jobs.job_outboxes import JobOutboxes
from ..jobs.schedule_entry import check_times
from ..jobs.schedules import AsyncSchedules, Schedule
from ..queue.batches import batches_of
from ..redis.connection import Connection
from ..redis.connections import make_durable_connection
from ..settings.table import Settings
from ..wire.clock import now_s
from ..wire.errors import HubClosed, HubError, InvalidArgs, NoSuchJob, NoSuchTask, hub_error
from ..wire.ids import new_id
from ..wire.job_part import whole
from ..wire.keys import Keys, forwarder_of, is_id, is_queue_name
from .arguments import encode_args, name_of, reader_of, serialized
from .resolver import Resolver, Route
from .routes import Routes

_MOST_AT_ONCE = 100_000

#: One of many: ``(task,)``, ``(task, args)`` or ``(task, args, options)``.
EnqueueEntry = Any


class EnqueuedMany(NamedTuple):
    """The outcome of ``enqueue_many``."""

    #: Ids in the order of the entries; for a duplicate, the id of the existing job.
    ids: list[str]
    #: How many entries were duplicates of existing jobs.
    twins: int


class Enqueuing:
    """All of it runs on the event loop of its hub."""

    def __init__(
        self, host: JobHost, settings: Settings, name: str, keys: Keys, connection: Connection, routes: Routes,
        resolver: Resolver, events: Events,
    ) -> None:  # fmt: skip
        self._host = host
        self._settings = settings
        #: Of the calling service.
        self._name = name
        self._keys = keys
        self._connection = connection
        self._routes = routes
        self._resolver = resolver
        #: Into which shards jobs go.
        self.placement = resolver.placement
        self._events = events
        self._outboxes = JobOutboxes(host, keys, connection, lambda: make_durable_connection(connection, events))

    async def enqueue(self, called: Any, args: Any, options: Mapping[str, Any], hosts: Callable[[], JobHost]) -> AsyncJob[Any]:
        end = now_s() + _timeout_of(options) / 1000
        route = await self._route_of(_checked_name(called), options, end)
        [step] = await self.placement.spread([self._step_of(route, serialized(called, args), options, True)])
        twins = await self._send(step.queue, [self.message_of([step])], options, end)
        return AsyncJob(hosts, step.queue, twins.get(0, step.id), step.task, bool(twins), read=reader_of(called))

    async def enqueue_many(self, entries: Sequence[EnqueueEntry], options: Mapping[str, Any]) -> EnqueuedMany:
        """All are checked before the first is sent; then each batch of them is in Redis as a whole or not at all."""
        steps = await self.placement.spread(await self.prepare(entries, options))
        return await self.send_all(steps, [self.message_of([step]) for step in steps], options)

    async def prepare(
        self,
        entries: Sequence[EnqueueEntry],
        options: Mapping[str, Any],
        is_whole: Callable[[int], bool] = lambda place: True,
    ) -> list[Step]:
        """
        Entries as jobs, none of which is sent yet. ``is_whole``: False for one whose arguments are not all there yet, which its worker
        checks. Raises HubError whose ``data["index"]`` names the entry that is wrong.
        """
        if not isinstance(entries, (list, tuple)) or len(entries) > _MOST_AT_ONCE:
            message = f"Pass jobs as a list of at most {_MOST_AT_ONCE} entries; split longer lists into several calls."
            raise InvalidArgs(message)
        end = now_s() + _timeout_of(options) / 1000
        routes: dict[tuple[Any, Any, str], Route] = {}
        steps: list[Step] = []
        for index, entry in enumerate(entries):
            called: Any = None
            try:
                called, args, own = parts_of(entry)
                check_of_one(_checked_name(called), own)
                merged = combined(options, own)
                name = _checked_name(called)
                key = (merged.get("queue"), merged.get("forward"), name)
                if key not in routes:
                    routes[key] = await self._route_of(name, merged, end)
                steps.append(self._step_of(routes[key], serialized(called, args), merged, is_whole(index)))
            except HubError as error:
                data = {"index": index, **(error.data if isinstance(error.data, dict) else {})}
                message = f"Nothing was enqueued. Entry {index}: {error.message}"
                task = error.task or (str(name_of(called))[:120] if called is not None else None)
                raise hub_error(error.code, message, task=task, data=data) from error
            # What many of them take must not keep the loop from other things.
            if index % 1000 == 999:
                await asyncio.sleep(0)
        return steps

    async def send_all(self, steps: Sequence[Step], messages: Sequence[str], options: Mapping[str, Any]) -> EnqueuedMany:
        """Sends jobs, each batch of them as a whole or not at all."""
        timeout_s = _timeout_of(options) / 1000
        ids = [step.id for step in steps]
        enqueued = twins = 0

        async def send_queue(queue: str, places: list[int]) -> None:
            nonlocal enqueued, twins
            for batch in batches_of(places, lambda place: weight_of(messages[place])):
                texts = [messages[place] for place in batch]
                found = await self._send(queue, texts, options, now_s() + timeout_s)
                for at, id in found.items():
                    ids[batch[at]] = id
                enqueued += len(batch)
                twins += len(found)

        by_queue: dict[str, list[int]] = {}
        for place, step in enumerate(steps):
            by_queue.setdefault(step.queue, []).append(place)
        outcomes = await _all_settled([send_queue(queue, places) for queue, places in by_queue.items()])
        failed = next((outcome for outcome in outcomes if outcome is not None), None)
        if failed is None:
            return EnqueuedMany(ids, twins)
        if not isinstance(failed, HubError):
            raise failed
        message = f"{enqueued} of {len(steps)} jobs were enqueued (the first of each queue), then it failed: {failed.message}"
        raise hub_error(failed.code, message, data={"enqueued": enqueued}) from failed

    async def schedule(self, name: Any, times: Any, called: Any, args: Any, options: Mapping[str, Any], hosts: Callable[[], JobHost]) -> Schedule:
        checked = check_times(name, times)
        timed = next((option for option in ("delay_ms", "at") if options.get(option) is not None), None)
        if timed is not None:
            raise InvalidArgs(f"schedule {name}: {timed} is not an option of schedules: the cron entry says when jobs are due. Leave it out.")
        check_of_one(_checked_name(called), options)
        [step] = await self.prepare([(called, args)], options)
        return await AsyncSchedules(hosts, step.queue).write(name, checked, step, self._name)

    def message_of(self, steps: Sequence[Step]) -> str:
        """A job, and what follows it, as it is sent."""
        return step_message(steps, self._name)

    async def job(self, id: Any, queue: Any, hosts: Callable[[], JobHost]) -> AsyncJob[Any]:
        """A job that was enqueued before, here or elsewhere."""
        where = "" if queue is None else f" in queue {str(queue)[:80]}"
        why = "it was not tracked, or the record has expired"
        unknown = NoSuchJob(f"There is no record of job {str(id)[:80]}{where}: {why}.")
        if not is_id(id):
            raise unknown
        if queue is not None:
            check_queue(queue)
        host, keys = self._host, self._keys
        queues = await host.ask(lambda _: self._resolver.places(queue))

        async def look(connection: Connection) -> list[Any]:
            return [await connection.one("EXISTS", keys.queue(name).job(id)) for name in queues]

        found = await host.ask(look)
        if 1 not in found:
            raise unknown
        place = queues[found.index(1)]
        status = await AsyncJob(hosts, place, id, "").status()
        return AsyncJob(hosts, status.queue, id, status.task)

    async def key(self, called: Any, key: Any, queue: Any, hosts: Callable[[], JobHost]) -> AsyncJobKey:
        """A key of the jobs of a task, where that is known."""
        name = _checked_name(called)
        check_key_text(name, key)
        forwarder = forwarder_of(queue)
        place = {"queue": queue} if forwarder is None else {"forward": forwarder}
        route = await self._route_of(name, place, now_s() + DEFAULT_ENQUEUE_MS / 1000)
        if route.keyed == "merged":
            # Those are in the queue's own place, whatever their text.
            return AsyncJobKey(hosts, route.queue, route.task, whole(key))
        home = await self._host.ask(lambda _: self.placement.home_of(route.queue, route.task, whole(key)))
        return AsyncJobKey(hosts, home, route.task, whole(key))

    async def stop(self) -> None:
        await self._outboxes.stop()

    def detach(self) -> None:
        """In a forked child."""
        self._outboxes.detach()

    def used_keys(self) -> list[str]:
        """The keys this hub may have left in Redis."""
        return self._outboxes.used_keys()

    def _step_of(self, route: Route, args: Any, options: Mapping[str, Any], is_whole: bool) -> Step:
        most = min(self._settings.max_payload_bytes, route.max_payload_bytes)
        text = encode_args(route if is_whole else route._replace(check_args=None), args, most)
        part, ttl_ms = shape_of(route.task, text, options, route.keyed, route.scores)
        if route.keyed == "merged":
            text = payload_text(text)
        return Step(new_id(), route.task, route.queue, text, part, ttl_ms, shards=route.spread and route.spread.shards)

    async def _route_of(self, called: str, options: Mapping[str, Any], end: float) -> Route:
        queue, purpose = place_of(called, options)
        if self._host.closing.is_set:
            raise HubClosed("This hub was closed; make a new one.", task=called)
        if queue is not None:
            check_queue(queue)
        self._connection.open()
        return self._routes.known(called, queue, purpose) or await self._routes.find(called, queue, end, purpose)

    async def _send(self, queue: str, messages: list[str], options: Mapping[str, Any], end: float) -> dict[int, str]:
        outbox = self._outboxes.of(queue, options.get("durable") is not None)
        twins = await outbox.enqueue(messages, max(1, round((end - now_s()) * 1000)))
        self._events.emit("jobs:enqueued", queue=queue, count=len(messages) - len(twins), twins=len(twins))
        return twins


def parts_of(entry: EnqueueEntry) -> tuple[Any, Any, Mapping[str, Any]]:
    """Task, arguments and options of an entry. Raises InvalidArgs."""
    if not isinstance(entry, (list, tuple)) or not 1 <= len(entry) <= 3:
        raise InvalidArgs("it must be (task, args, options).")
    given: list[Any] = [*entry, {}, {}]
    called, args, own = given[:3]
    if own is not None and not isinstance(own, dict):
        raise InvalidArgs("its options must be a dict.")
    return called, args, own or {}


def _checked_name(called: Any) -> str:
    name = name_of(called)
    if isinstance(name, str):
        return name
    raise NoSuchTask("The task must be a name like my_task:1.0, or a task made by @task.")


def check_queue(queue: Any) -> None:
    if not is_queue_name(queue):
        raise InvalidArgs(f"queue must be the name of a queue, not '{str(queue)[:80]}'.")


def _timeout_of(options: Mapping[str, Any]) -> float:
    timeout_ms = options.get("timeout_ms")
    if timeout_ms is None:
        return DEFAULT_ENQUEUE_MS
    if isinstance(timeout_ms, (int, float)) and not isinstance(timeout_ms, bool) and timeout_ms > 0:
        return timeout_ms
    raise InvalidArgs(f"timeout_ms must be a number of milliseconds above 0, not {timeout_ms!r}.")


async def _all_settled(works: Sequence[Awaitable[None]]) -> list[BaseException | None]:
    return list(await asyncio.gather(*works, return_exceptions=True))
