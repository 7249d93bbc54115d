"""Jobs that follow others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ..jobs.batch import AsyncBatch
from ..jobs.chain import Step, step_id
from ..jobs.enqueue_options import combined
from ..jobs.job import AsyncChain, AsyncJob, JobHost
from ..redis.connection import Connection
from ..wire.clock import now_s, sleep
from ..wire.errors import HubError, InvalidArgs, NotEnqueued, OutcomeUnknown
from ..wire.ids import new_id
from .enqueuing import EnqueueEntry, Enqueuing, parts_of

_MOST_STEPS = 100
#: Opening and closing a batch may be repeated; for this long it is.
_INSIST_S = 30.0
_RETRY_S = 0.1


async def start_chain(enqueuing: Enqueuing, hosts: Callable[[], JobHost], entries: Sequence[EnqueueEntry], options: Mapping[str, Any]) -> AsyncChain:
    """Each step travels in the message of the one before it."""
    if not isinstance(entries, (list, tuple)) or not 1 <= len(entries) <= _MOST_STEPS:
        raise InvalidArgs(f"A chain is a list of 1 to {_MOST_STEPS} steps.")
    passed = [_passed_of(entry, at) for at, entry in enumerate(entries)]
    bare = [_without_pass(entry) for entry in entries]
    prepared = await enqueuing.prepare(bare, combined({"tracked": True}, options), lambda at: passed[at] is None)
    if any((step.job or {}).get("merged") for step in prepared):
        raise InvalidArgs("A merged job cannot be a step of a chain: it has no end of its own.")
    id = new_id()
    # Those that come later come to the queue's own place: who knows which shards there are then.
    prepared[:1] = await enqueuing.placement.spread(prepared[:1])
    places = [(step.queue, step.task) for step in prepared]
    steps: list[Step] = []
    for at, step in enumerate(prepared):
        job = {**(step.job or {}), "chain": id, "step": at + 1, "steps": places}
        steps.append(step._replace(id=step_id(id, at), job=job, passes=passed[at]))
    await enqueuing.send_all(steps[:1], [enqueuing.message_of(steps)], options)
    return AsyncChain(hosts, id, places)


def _passed_of(entry: EnqueueEntry, at: int) -> str | None:
    """The field of a step's arguments that gets the result of the step before it."""
    try:
        _, args, own = parts_of(entry)
    except HubError:
        # Told of with the entry.
        return None
    passed = own.get("pass")
    if passed is None:
        return None
    if at == 0:
        raise _wrong_step(at, "no step comes before the first one, so it cannot have pass")
    if not isinstance(passed, str) or passed in ("", "__proto__"):
        raise _wrong_step(at, "pass must be the name of a field")
    if not isinstance(args, dict):
        raise _wrong_step(at, "a result can only be passed to arguments that are a dict")
    return passed


def _wrong_step(at: int, what: str) -> HubError:
    return InvalidArgs(f"Entry {at} of the chain: {what}.", data={"index": at})


def _without_pass(entry: EnqueueEntry) -> Any:
    if isinstance(entry, (list, tuple)) and len(entry) == 3 and isinstance(entry[2], dict):
        return (*entry[:2], {name: value for name, value in entry[2].items() if name != "pass"})
    return entry


async def _until_known(host: JobHost, is_begun: bool, act: Callable[[Connection], Awaitable[Any]]) -> None:
    """
    Repeats a step of a batch until its outcome is known. ``is_begun``: jobs of it run already, so that what did not reach Redis is
    repeated, too. Raises OutcomeUnknown after 30 s, NotEnqueued when nothing was done, HubClosed.
    """
    end, doubt = now_s() + _INSIST_S, is_begun
    while True:
        try:
            await host.change(act)
            return
        except (OutcomeUnknown, NotEnqueued) as error:
            doubt = doubt or isinstance(error, OutcomeUnknown)
            if not doubt:
                raise
            if now_s() > end:
                raise OutcomeUnknown(f"The batch was enqueued only in part: {error}") from None
            await sleep(_RETRY_S, host.closing)


async def start_batch(
    enqueuing: Enqueuing,
    host: JobHost,
    hosts: Callable[[], JobHost],
    entries: Sequence[EnqueueEntry],
    options: Mapping[str, Any],
) -> AsyncBatch:
    """The batch is there before its first job, and is closed behind its last one: so none of them can end unnoticed."""
    own = {name: value for name, value in options.items() if name not in ("then", "failed")}
    after, failed = [await _prepared(enqueuing, options.get(name), options) for name in ("then", "failed")]
    if after and failed and after.queue != failed.queue:
        raise InvalidArgs("The jobs that follow a batch must all be in one queue.")
    prepared = await enqueuing.prepare(entries, own)
    if any((step.job or {}).get("merged") for step in prepared):
        raise InvalidArgs("A merged job cannot be one of a batch: it has no end of its own.")
    first = after or failed or (prepared[0] if prepared else None)
    if first is None:
        raise InvalidArgs("A batch needs at least one job, in it or after it.")
    home, id = first.queue, new_id()
    queue = host.queue_of(home)
    # Its own place is that of a whole queue, which goes on being served whatever becomes of shards.
    placed = await enqueuing.placement.spread(prepared)
    steps = [step._replace(job={**(step.job or {}), "batch": f"{home}/{id}"}) for step in placed]
    following = [enqueuing.message_of([step]) if step else "" for step in (after, failed)]
    await _until_known(host, False, lambda connection: queue.open_batch(connection, id, *following))
    ids, _ = await enqueuing.send_all(steps, [enqueuing.message_of([step]) for step in steps], own)
    await _until_known(host, True, lambda connection: queue.close_batch(connection, id, len(set(ids))))

    def job_of(step: Step | None) -> AsyncJob[Any] | None:
        return step and AsyncJob(hosts, home, step.id, step.task, is_to_come=True)

    return AsyncBatch(hosts, id, home, ids, job_of(after), job_of(failed))


async def _prepared(enqueuing: Enqueuing, entry: Any, options: Mapping[str, Any]) -> Step | None:
    """What follows, if anything does."""
    if entry is None:
        return None
    # Tracked, so that somebody can wait for it before it is there.
    [step] = await enqueuing.prepare([entry], {"queue": options.get("queue"), "tracked": True})
    return step
