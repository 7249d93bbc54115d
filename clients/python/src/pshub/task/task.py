"""Declaring tasks."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from ..wire.canonical import canonical
from ..wire.errors import ConfigError, InvalidResult
from ..wire.names import TaskName, parse_task_name
from ..wire.payload import compact
from ..wire.raised import message_of
from .merged import Merging, read_merged_signature, read_merging
from .misfit import Misfit, read_whole
from .options import MAX_TIMEOUT_S, TaskBackoff, check_danger, check_job_options, check_keyed
from .schema import Validate, compile_own
from .schema_problems import Problem
from .signature import Signature, read_declared_signature
from .yields import Yields, refuse_yields, yields_of

P = ParamSpec("P")
R = TypeVar("R")
#: What the function of a task returns.
R_co = TypeVar("R_co", covariant=True)

DEFAULT_TIMEOUT_S = 5.0
DEFAULT_JOB_TIMEOUT_MS = 30 * 60 * 1000
#: Beside what else is on its card, which nobody reads when it is too long.
_MAX_DECLARATION = 250_000


class TaskContext:
    """What a handler is told about its call: its parameter ``ctx`` gets it, or one with this class, or one made of it, as its hint."""


class Task(Generic[P, R_co]):
    """
    A declared task: pass it to a Worker, or to ``hub.call``, which then returns the type of the function's hint. Calling it calls the
    function itself. ``P`` are the parameters of the function and ``R_co`` is its result.
    """

    is_async = False

    def __init__(
        self,
        name: TaskName,
        function: Callable[P, R_co],
        signature: Signature,
        args: Mapping[str, Any] | None,
        result: Mapping[str, Any] | None,
        description: str,
        timeout: float,
        idempotent: bool,
        job_timeout_ms: float = DEFAULT_JOB_TIMEOUT_MS,
        retries: int | None = None,
        backoff: TaskBackoff | None = None,
        keyed: str | None = None,
        on_failure: str | None = None,
        merging: Merging = Merging(),
        dangerous: bool | str = False,
        yields: Yields = None,
    ) -> None:
        self.name = name
        self.function = function
        self.description = description
        self.args = args
        self.result = result
        self.timeout = timeout
        self.idempotent = idempotent
        self.dangerous = dangerous
        self.job_timeout_ms = job_timeout_ms
        self.retries = retries
        self.backoff = backoff
        self.keyed = keyed
        self.on_failure = on_failure or "hold"
        self.merging = merging
        #: The schema of each chunk, or True where it yields and none was given; None: it does not, as far as is known.
        self.yields = yields
        self._signature = signature
        self.check_args: Validate | None = None if args is None else compile_own(args, f"{name.full}: 'args'")
        self.check_result: Validate | None = None if result is None else compile_own(result, f"{name.full}: 'result'")
        declares_chunk = yields is not None and yields is not True
        self.check_chunk: Validate | None = compile_own(yields, f"{name.full}: 'yields'") if declares_chunk else None
        length = len(compact([description, args, result, yields]))
        if length > _MAX_DECLARATION:
            raise ConfigError(
                f"{name.full}: its description and schemas are {length} characters of JSON; at most {_MAX_DECLARATION} fit on a card of the registry."
            )
        declared = json.loads(compact([args, result, yields] if declares_chunk else [args, result]))
        self.digest = hashlib.sha256(canonical(declared, exact=False).encode()).hexdigest()[:12]
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name.name)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R_co:
        return self.function(*args, **named)

    def __repr__(self) -> str:
        return f"<task {self.name.full}>"

    def run(self, args: Any, context: TaskContext) -> Any:
        """
        Calls the function with arguments as they came; of a task that merges its jobs with what a run brought, a RunArgs. What an ``async
        def`` returns is to be awaited. Raises Misfit instead where a hint does not take what its schema lets pass.
        """
        signature = self._signature
        named: dict[str, Any] = {}
        if signature.takes_whole:
            convert = signature.parameters[0].convert
            named[signature.parameters[0].name] = convert(args) if convert else args
        elif isinstance(args, dict):
            for name, convert in signature.parameters:
                if name in args:
                    named[name] = convert(args[name]) if convert else args[name]
            if signature.takes_any:
                for name, value in args.items():
                    named.setdefault(name, value)
        if signature.context is not None:
            named[signature.context] = context
        call: Callable[..., Any] = self.function
        return call(**named)

    def problems_of(self, payload: Any) -> list[Problem]:
        """What is wrong with one payload of a task that merges its jobs; its own ``deserialize`` is not asked."""
        problems = self.check_args(payload) if self.check_args else []
        try:
            if not problems and self._signature.convert_payload:
                read_whole(self._signature.convert_payload, payload)
        except Misfit as misfit:
            return misfit.problems
        return problems

    @property
    def reads_results(self) -> bool:
        """Whether a result as it travelled is not yet what the function's hint promises."""
        return self._signature.convert_result is not None and self.result is self._signature.result

    def read_result(self, value: Any) -> R_co:
        """A result as it travelled, as the function's hint promises it: an instance, where that is a class. Raises InvalidResult."""
        convert = self._signature.convert_result
        try:
            read: R_co = convert(value) if convert and self.reads_results else value
            return read
        except Exception as error:
            told = f"The result of {self.name.full} does not match the return type of its function: {message_of(error)}."
            raise InvalidResult(told, task=self.name.full) from error

    def card(self, queue: str, max_payload_bytes: int, max_backlog: int, at_s: int) -> dict[str, Any]:
        timeout_ms = self.timeout * 1000
        card: dict[str, Any] = {"task": self.name.full, "queue": queue, "description": self.description}
        declared = {"args": self.args, "result": self.result, "yields": self.yields}
        card.update({key: value for key, value in declared.items() if value is not None})
        card.update(
            timeoutMs=int(timeout_ms) if timeout_ms == int(timeout_ms) else timeout_ms,
            idempotent=self.idempotent,
            **({"dangerous": self.dangerous} if self.dangerous else {}),
            **({} if self.keyed is None else {"keyed": self.keyed}),
            **({"scores": "first"} if self.merging.scores == "first" else {}),
            digest=self.digest,
            maxPayloadBytes=max_payload_bytes,
            maxBacklog=max_backlog,
            at=at_s,
        )
        return card


class AsyncTask(Task[P, R_co]):
    """The same of an ``async def``: calling it returns a coroutine."""

    is_async = True

    def __call__(self, *args: P.args, **named: P.kwargs) -> Coroutine[Any, Any, R_co]:  # type: ignore[override]
        return cast("Coroutine[Any, Any, R_co]", self.function(*args, **named))


class Declare(Protocol):
    """What makes a task of a function."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


def task(
    name: str,
    *,
    args: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
    yields: Yields = None,
    description: str | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    idempotent: bool = False,
    dangerous: bool | str = False,
    job_timeout_ms: float = DEFAULT_JOB_TIMEOUT_MS,
    retries: int | None = None,
    backoff: TaskBackoff | None = None,
    keyed: str | None = None,
    on_failure: str | None = None,
    batch: int | None = None,
    max_payloads: int | None = None,
    scores: str | None = None,
    serialize: Callable[[Any], Any] | None = None,
    deserialize: Callable[[Any], Any] | None = None,
) -> Declare:
    """
    Declares a function as a task. Its arguments are passed by name; a function with a single parameter ``args`` gets them as one value.

    :param name: ``name:major.minor``
    :param args: JSON Schema (2020-12) of the arguments. Default: derived from the type hints and defaults
    :param result: JSON Schema of the result. Default: derived from the return hint; without one any JSON is accepted
    :param yields: JSON Schema of each chunk that it yields: a chunk that does not match ends the function with InvalidResult. True: it
      yields chunks of any kind. Default: True for a function that yields
    :param description: Markdown; lists show the first line. Default: the docstring
    :param timeout: timeout in seconds of calls that set none
    :param idempotent: True if running it twice is safe: then another worker runs a call again if its worker crashes
    :param dangerous: True, or the reason in at most 500 characters, if it needs a confirmation: ``pshub call`` and the form of the
      registry ask before they run it; programs are not asked
    :param job_timeout_ms: how long it may run as a job, milliseconds; default 30 minutes
    :param retries: how often a job is retried when it fails, unless the job sets it; default 25
    :param backoff: wait before a retry: ``"exponential"`` (default), ``"polynomial"`` (default for merged jobs), milliseconds or a list
      of them; or a function of the error and the number of failures, which returns milliseconds, or None for a job that shall be dead
    :param keyed: jobs of this task have keys. ``"ordered"``: jobs with the same key run one at a time, in order, across all workers of
      all languages; ``"merged"``: waiting jobs with the same key are passed to the function together, each payload once, as a dict of keys
      and lists, and a key has at most one run at a time; default: no keys
    :param on_failure: while a failed keyed job waits for its retry: ``"hold"`` (default) makes the next jobs of its key wait; ``"pass"``
      runs them first
    :param batch: for merged jobs, like the following: maximum number of keys per run, 1 to 100; default 1
    :param max_payloads: maximum number of payloads per key and run, 1 to 10,000; default 1000. The rest comes in the next run
    :param scores: which score counts if an equal payload is already waiting: the ``"last"`` one (default), or the ``"first"``
    :param serialize: converts a payload to the JSON that is sent, which ``args`` describes; default: the payload itself
    :param deserialize: converts that JSON back to a payload for the function
    :raises ConfigError: for an invalid name, schema or hint
    """
    parsed = parse_task_name(name)
    check_job_options(name, job_timeout_ms, retries, backoff)
    check_keyed(name, keyed, on_failure)
    check_danger(name, dangerous)
    given = {
        "batch": batch, "max_payloads": max_payloads, "scores": scores, "serialize": serialize, "deserialize": deserialize,
    }  # fmt: skip
    merging = read_merging(name, keyed, on_failure, result, given)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= MAX_TIMEOUT_S:
        raise ConfigError(f"{name}: 'timeout' must be above 0 and at most {MAX_TIMEOUT_S:.0f} seconds (a day).")

    def declare(function: Callable[..., Any], /) -> Task[..., Any]:
        if not callable(function):
            raise ConfigError(f"{name}: @task declares a function.")
        if keyed == "merged":
            refuse_yields(function, name, yields)
            signature = read_merged_signature(function, _is_context, name, args is not None, deserialize)
        else:
            signature = read_declared_signature(function, _is_context, name, args is not None and result is not None)
        kind = AsyncTask if _is_coroutine_function(function) or inspect.isasyncgenfunction(function) else Task
        return kind(
            parsed,
            function,
            signature,
            signature.args if args is None else args,
            signature.result if result is None else result,
            signature.description if description is None else description,
            float(timeout),
            idempotent,
            job_timeout_ms,
            retries,
            backoff,
            keyed,
            on_failure,
            merging,
            dangerous,
            yields_of(function, yields),
        )

    return cast(Declare, declare)


def _is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Also of an instance whose class says how it is called."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004


def _is_context(name: str, hint: Any) -> bool:
    return name == "ctx" or (isinstance(hint, type) and issubclass(hint, TaskContext))
