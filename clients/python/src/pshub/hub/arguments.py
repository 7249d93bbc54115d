"""What a call is made of, and why it is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..task.task import Task
from ..wire.errors import Expired, HubClosed, HubError, InvalidArgs, NoSuchTask, PayloadTooLarge, problem_error
from ..wire.keys import is_queue_name
from ..wire.payload import PayloadProblem, decode_payload, encode_payload, exceeds
from ..wire.raised import message_of
from ..wire.streams import OnProgress
from .resolver import Route

#: What is called: ``name:1.0`` (exactly that version), ``name:1`` (the newest live 1.x), ``name`` (the newest live one), or a task.
Called = str | Any
MISSING: Any = object()


class CallOptions(NamedTuple):
    """How one call is made: what ``Calling.call`` says of each."""

    timeout: float | None = None
    queue: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    on_progress: OnProgress | None = None


def arguments_of(called: Called, args: Any, named: dict[str, Any], given: Mapping[str, Any]) -> Any:
    """
    What a task is given. A value is that, whatever it holds; without one it is what is left of the names when the options are taken out, which
    are ``given``. Raises TypeError where it cannot be told what is meant.
    """
    if args is not MISSING:
        if named:
            raise TypeError(f"Pass the arguments by name or as one value, not both: {', '.join(named)} came with a value.")
        return args
    # By its name alone nothing is known of it here.
    if isinstance(called, Task) and called.args:
        own = called.args.get("properties", {})
        for name, value in given.items():
            if value is not None and name in own:
                raise TypeError(
                    f"'{name}' is an option of the call, and {called.name.full} has an argument of that name too. Pass its arguments in "
                    f"a dict: {{'{name}': ...}}; then '{name}' next to it is the option."
                )
    return named


def name_of(called: Called) -> Any:
    name = getattr(called, "name", called)
    return getattr(name, "full", name)


def reader_of(called: Called) -> Callable[[Any], Any] | None:
    """What makes of a result what is promised of the task that was called; None: it is that already."""
    return called.read_result if isinstance(called, Task) and called.reads_results else None


def serialized(called: Called, args: Any) -> Any:
    """What travels of the arguments, where the task that was given says how that is made of them. Raises InvalidArgs."""
    serialize = called.merging.serialize if isinstance(called, Task) else None
    if serialize is None:
        return args
    try:
        return serialize(args)
    except Exception as error:
        name = name_of(called)
        raise InvalidArgs(f"{name}: its serialize raised: {message_of(error)}.", task=name) from error


def wrong_call(called: Any, options: CallOptions, is_closed: bool = False) -> HubError | None:
    """Why a call cannot be made at all, of this hub or of any."""
    wrong: HubError | None = wrong_arguments(called, options.timeout, options.queue)
    if wrong is None and options.on_progress is not None and not callable(options.on_progress):
        wrong = InvalidArgs(f"on_progress must be a function, not {options.on_progress!r:.80}.", task=called)
    return HubClosed("This hub was closed; make a new one.", task=called) if wrong is None and is_closed else wrong


def encode_args(route: Route, args: Any, max_bytes: float) -> str:
    """The arguments as JSON; raises InvalidArgs or PayloadTooLarge."""
    try:
        text = encode_payload(args)
        if exceeds(text, int(min(max_bytes, 1 << 62))):
            message = f"The arguments of {route.task} are larger than {max_bytes:.0f} bytes; pass a reference to them instead."
            raise PayloadTooLarge(message, task=route.task)
        # What counts is what travels: a dataclass is an object there, a tuple a list.
        problems = route.check_args(args) if route.check_args else []
        if problems and route.check_args:
            problems = route.check_args(decode_payload(text))
        if problems:
            raise problem_error("InvalidArgs", problems, route.task)
        return text
    except PayloadProblem as problem:
        raise problem_error("InvalidArgs", [problem.problem], route.task) from None


def wrong_arguments(called: Any, timeout_s: Any, queue: Any) -> HubError | None:
    """Why a call cannot be made of any hub."""
    if not isinstance(called, str):
        return NoSuchTask("The task must be a name like my_task:1.0, or a task made by @task.")
    if queue is not None and not is_queue_name(queue):
        given = f"'{queue[:80]}'" if isinstance(queue, str) else type(queue).__name__
        return InvalidArgs(f"queue must be the name of a queue, not {given}.", task=called)
    if timeout_s is None:
        return None
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or timeout_s != timeout_s:
        return InvalidArgs(f"timeout must be a number of seconds, not {timeout_s!r}.", task=called)
    if timeout_s <= 0:
        # A nested call whose time is up comes here with 0; it certainly was not sent.
        return Expired(f"No time is left to call {called}.", task=called)
    return None
