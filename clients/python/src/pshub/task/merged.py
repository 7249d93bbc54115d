"""Tasks that merge their jobs."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..wire.errors import ConfigError
from .definitions import hoisted
from .docstring import read_docstring
from .hints import schema_of
from .misfit import read_at
from .records import Convert, Place, Schema
from .signature import Parameter, Signature, hints_of

_MOST_KEYS = 100
_MOST_PAYLOADS = 10_000

#: What a run brought, as it travelled: keys and their payloads.
RunArgs = Sequence[tuple[str, list[Any]]]


class Merging(NamedTuple):
    """What is said of a task that merges its jobs, beside what is said of any."""

    #: How many keys one run gets at the most, and how many payloads of each of these.
    batch: int = 1
    max_payloads: int = 1000
    #: Which score counts where a payload is enqueued that waits already: ``last`` or ``first``.
    scores: str = "last"
    #: What travels of a payload, as JSON; None: the payload.
    serialize: Callable[[Any], Any] | None = None
    #: The payload again, for the handler.
    deserialize: Callable[[Any], Any] | None = None


def read_merging(name: str, keyed: str | None, on_failure: Any, result: Any, given: dict[str, Any]) -> Merging:
    """``given``: what was said of it, by the names of its fields. Raises ConfigError for an option that cannot work."""
    said = {option: value for option, value in given.items() if value is not None}
    if keyed != "merged":
        for option in said:
            raise ConfigError(f"{name}: '{option}' is for tasks that merge their jobs; give keyed='merged' too.")
        return Merging()
    for option, most in (("batch", _MOST_KEYS), ("max_payloads", _MOST_PAYLOADS)):
        if option in said and not _is_count_to(said[option], most):
            raise ConfigError(f"{name}: '{option}' must be a whole number from 1 to {most}.")
    if said.get("scores", "last") not in ("first", "last"):
        raise ConfigError(f"{name}: 'scores' must be 'first' or 'last'.")
    for option in ("serialize", "deserialize"):
        if option in said and not callable(said[option]):
            raise ConfigError(f"{name}: '{option}' must be a function.")
    if result is not None:
        raise ConfigError(f"{name}: 'result' has no effect: nobody receives what a run of merged jobs returns.")
    if on_failure is not None:
        raise ConfigError(f"{name}: 'on_failure' is for keyed='ordered': a key that failed keeps its payloads together.")
    return Merging(**said)


def _is_count_to(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def read_merged_signature(
    function: Callable[..., Any],
    is_context: Callable[[str, Any], bool],
    what: str,
    has_args: bool,
    deserialize: Callable[[Any], Any] | None,
) -> Signature:
    """
    Of a function that is given a dict of keys and their payloads. The schema of one payload is made of its hint, ``Dict[str, List[...]]``,
    unless that describes what somebody else makes of it. Raises ConfigError.
    """
    is_described = has_args or deserialize is not None
    try:
        hints = hints_of(function)
    except Exception as error:
        if not is_described:
            raise ConfigError(f"{what}: its type hints cannot be read ({error}); pass 'args' instead.") from None
        hints = {}
    listed = list(inspect.signature(function).parameters.values())
    contexts = [p.name for p in listed if is_context(p.name, hints.get(p.name))]
    plain = [p for p in listed if p.name not in contexts]
    if len(plain) != 1 or plain[0].kind not in (plain[0].POSITIONAL_OR_KEYWORD, plain[0].KEYWORD_ONLY):
        raise ConfigError(
            f"{what}: its function needs one parameter that has a name, for a dict of keys and their payloads, and may have one for the context."
        )
    [parameter] = plain
    schema: Schema = {}
    convert: Convert = deserialize
    if deserialize is None:
        try:
            place = Place(f"{what}: a payload of '{parameter.name}'", False)
            schema, convert = schema_of(_payload_hint(hints.get(parameter.name)), place)
            schema = hoisted(schema)
        except ConfigError:
            # Hints that say nothing about JSON do not matter where the schema is given.
            if not has_args:
                raise
    description, _ = read_docstring(inspect.getdoc(function) or "")
    given = Parameter(parameter.name, _by_key(convert, deserialize is not None))
    context = contexts[0] if contexts else None
    return Signature(schema, None, None, description, [given], False, True, context, None if deserialize else convert)


def _payload_hint(hint: Any) -> Any:
    """What the dict's lists hold; Any where that is not said."""
    for place in (1, 0):
        inner = typing.get_args(hint)
        if len(inner) <= place:
            return Any
        hint = inner[place]
    return hint


def _by_key(convert: Convert, is_own: bool) -> Callable[[RunArgs], dict[str, list[Any]]]:
    """What is the user's own raises what it likes, which is a failure of the run."""

    def read(payloads: list[Any]) -> list[Any]:
        if convert is None:
            return list(payloads)
        return [convert(each) if is_own else read_at(place, convert, each) for place, each in enumerate(payloads)]

    return lambda run: {key: read(payloads) for key, payloads in run}
