"""Declaring tasks, and what a handler is given besides its arguments."""

from __future__ import annotations

import hashlib
import math
import threading
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set

from ..outlets.log import TaskLog
from ..settings.table import Settings
from ..wire.clock import now_s
from ..wire.errors import ConfigError, HubError, compact
from ..wire.message import Request
from ..wire.names import TaskName, parse_task_name
from .hints import Signature, read_signature
from .schema import Validate, compile_own

DEFAULT_TIMEOUT_S = 5.0
_MAX_TIMEOUT_S = 86_400.0
#: Beside what else is on its card, which nobody reads when it is too long.
_MAX_DECLARATION = 250_000

NestedCall = Callable[["Context", Any, Any, float, Optional[str]], Any]


class Context:
    """What a handler is told about its call; give it a parameter named ``ctx``, or one with this class as its hint."""

    def __init__(self, request: Request, end: float, nested_call: NestedCall) -> None:
        self._request = request
        self._end = end
        self._nested_call = nested_call
        self._aborted: Optional[threading.Event] = None
        self._lock = threading.Lock()
        #: Why it was told to stop, once it was.
        self.reason: Optional[HubError] = None
        self._nested: Set[Any] = set()

    @property
    def id(self) -> str:
        """The request's id."""
        return self._request.id

    @property
    def task(self) -> str:
        """``name:version``"""
        return self._request.task

    @property
    def caller(self) -> Optional[str]:
        """The calling service, as it named itself."""
        return self._request.from_

    @property
    def traceparent(self) -> Optional[str]:
        """W3C trace context of the call."""
        return self._request.traceparent

    @property
    def tracestate(self) -> Optional[str]:
        """What tracing systems add to it."""
        return self._request.tracestate

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; inf when there is none."""
        return max(0.0, self._end - now_s())

    @property
    def aborted(self) -> threading.Event:
        """Set when the call's time is up, its caller gave up, or the worker leaves. Wait on it instead of sleeping."""
        with self._lock:
            if self._aborted is None:
                self._aborted = threading.Event()
                if self.reason is not None:
                    self._aborted.set()
            return self._aborted

    @property
    def cancelled(self) -> bool:
        """Whether ``aborted`` is set: nobody needs the result any more."""
        return self.reason is not None

    @property
    def log(self) -> TaskLog:
        """A log whose lines carry the task and the request's id."""
        return TaskLog(self.task, self.id)

    def call(
        self,
        task: Any,
        args: Any = None,
        /,
        *,
        timeout: Optional[float] = None,
        queue: Optional[str] = None,
        **named: Any,
    ) -> Any:
        """Calls another task with what remains of this call's time, under the same trace. Raises HubError."""
        if args is not None and named:
            raise TypeError("Give the arguments by name or as one value, not both.")
        limit = min(timeout or math.inf, self.remaining)
        return self._nested_call(self, task, named if args is None else args, limit, queue)

    def _abort(self, reason: HubError) -> None:
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            if self._aborted is not None:
                self._aborted.set()
            nested = list(self._nested)
        for pending in nested:
            pending.cancel()

    def _watch(self, pending: Any) -> None:
        """A nested call goes when this one does."""
        with self._lock:
            self._nested.add(pending)
            is_over = self.reason is not None
        if is_over:
            pending.cancel()

    def _unwatch(self, pending: Any) -> None:
        with self._lock:
            self._nested.discard(pending)


class Task:
    """A declared task: give it to a Worker, or to ``hub.call``. Calling it calls the function itself."""

    def __init__(
        self,
        name: TaskName,
        function: Callable[..., Any],
        signature: Signature,
        args: Optional[Mapping[str, Any]],
        result: Optional[Mapping[str, Any]],
        description: str,
        timeout: float,
        idempotent: bool,
    ) -> None:
        self.name = name
        self.function = function
        self.description = description
        self.args = args
        self.result = result
        self.timeout = timeout
        self.idempotent = idempotent
        self._signature = signature
        self.check_args: Optional[Validate] = None if args is None else compile_own(args, f"{name.full}: 'args'")
        self.check_result: Optional[Validate] = None if result is None else compile_own(result, f"{name.full}: 'result'")
        length = len(compact([description, args, result]))
        if length > _MAX_DECLARATION:
            raise ConfigError(
                f"{name.full}: its description and schemas are {length} characters of JSON; at most {_MAX_DECLARATION} fit on a card "
                "of the registry."
            )
        self.digest = hashlib.sha256(compact([args, result]).encode()).hexdigest()[:12]
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name.name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    def __repr__(self) -> str:
        return f"<task {self.name.full}>"

    def run(self, args: Any, context: Context) -> Any:
        """Calls the function with arguments as they came."""
        signature = self._signature
        named: Dict[str, Any] = {}
        if signature.takes_whole:
            convert = signature.parameters[0].convert
            named["args"] = convert(args) if convert else args
        elif isinstance(args, dict):
            for name, convert in signature.parameters:
                if name in args:
                    named[name] = convert(args[name]) if convert else args[name]
            if signature.takes_any:
                for name, value in args.items():
                    named.setdefault(name, value)
        if signature.context is not None:
            named[signature.context] = context
        return self.function(**named)

    def card(self, queue: str, settings: Settings, at_s: int) -> Dict[str, Any]:
        card: Dict[str, Any] = {"task": self.name.full, "queue": queue, "description": self.description}
        if self.args is not None:
            card["args"] = self.args
        if self.result is not None:
            card["result"] = self.result
        card.update(
            timeoutMs=_whole(self.timeout * 1000),
            idempotent=self.idempotent,
            digest=self.digest,
            maxPayloadBytes=settings.max_payload_bytes,
            maxBacklog=settings.max_backlog,
            at=at_s,
        )
        return card


def _whole(value: float) -> Any:
    return int(value) if value == int(value) else value


def task(
    name: str,
    *,
    args: Optional[Mapping[str, Any]] = None,
    result: Optional[Mapping[str, Any]] = None,
    description: Optional[str] = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    idempotent: bool = False,
) -> Callable[[Callable[..., Any]], Task]:
    """
    Declares a function as a task. Its arguments come by name; a function with a single parameter ``args`` gets them as one value.

    :param name: ``name:major.minor``
    :param args: JSON Schema (2020-12) of the arguments. Default: made of the type hints and defaults
    :param result: JSON Schema of the result. Default: made of the return hint; without one any JSON is accepted
    :param description: Markdown; the first line is shown in lists. Default: the docstring
    :param timeout: seconds, for calls that give no time of their own
    :param idempotent: True when running twice does no harm: then a call is run again elsewhere if its worker dies
    :raises ConfigError: for a name, a schema or hints that cannot work
    """
    parsed = parse_task_name(name)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= _MAX_TIMEOUT_S:
        raise ConfigError(f"{name}: 'timeout' must be above 0 and at most {_MAX_TIMEOUT_S:.0f} seconds (a day).")

    def declare(function: Callable[..., Any]) -> Task:
        if not callable(function):
            raise ConfigError(f"{name}: @task declares a function.")
        signature = _signature_of(function, name, args is not None, result is not None)
        return Task(
            parsed,
            function,
            signature,
            signature.args if args is None else args,
            signature.result if result is None else result,
            signature.description if description is None else description,
            float(timeout),
            idempotent,
        )

    return declare


def _is_context(name: str, hint: Any) -> bool:
    return name == "ctx" or (isinstance(hint, type) and issubclass(hint, Context))


def _signature_of(function: Callable[..., Any], name: str, has_args: bool, has_result: bool) -> Signature:
    try:
        return read_signature(function, _is_context, name)
    except ConfigError:
        # Hints that say nothing about JSON do not matter where the schemas are given.
        if not (has_args and has_result):
            raise
        bare = _without_hints(function)
        return read_signature(bare, _is_context, name)


def _without_hints(function: Callable[..., Any]) -> Callable[..., Any]:
    import inspect

    def bare(**named: Any) -> Any:
        return function(**named)

    listed = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in listed.parameters.values()]
    bare.__signature__ = listed.replace(parameters=parameters, return_annotation=listed.empty)  # type: ignore[attr-defined]
    bare.__annotations__ = {}
    bare.__doc__ = function.__doc__
    return bare


def check_tasks(tasks: Iterable[Any]) -> Dict[str, Task]:
    """The tasks of a worker by name. Raises ConfigError for anything that @task did not make, and for a task given twice."""
    by_name: Dict[str, Task] = {}
    for each in tasks:
        if not isinstance(each, Task):
            raise ConfigError(f"'tasks' holds {each!r}, which @task did not make.")
        if each.name.full in by_name:
            raise ConfigError(f"The task {each.name.full} is given twice.")
        by_name[each.name.full] = each
    if not by_name:
        raise ConfigError("A worker needs 'tasks': a list of what @task made.")
    return by_name


def tasks_of(module: Any) -> List[Task]:
    """All tasks in a module's namespace: by themselves, or in a list or a dict."""
    found: Dict[int, Task] = {}
    for value in list(vars(module).values()):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        for each in inner:
            if isinstance(each, Task):
                found[id(each)] = each
    return list(found.values())
