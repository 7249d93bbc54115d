"""From a function's signature and docstring to a JSON Schema, and from JSON back to what its hints promise."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..wire.errors import ConfigError
from .definitions import hoisted
from .docstring import read_docstring
from .hints import schema_of
from .misfit import read_at, read_whole
from .records import Convert, Place, Schema, object_of, with_default
from .yields import result_hint


class Parameter(NamedTuple):
    name: str
    #: Raises Misfit.
    convert: Convert


class Signature(NamedTuple):
    args: Schema
    result: Schema | None
    convert_result: Convert
    description: str
    parameters: list[Parameter]
    #: Takes names that its signature does not list.
    takes_any: bool
    #: Takes the arguments as one value, in a parameter named ``args``.
    takes_whole: bool
    #: The parameter that is given the context.
    context: str | None
    #: Of a task that merges its jobs: reads one payload.
    convert_payload: Convert = None


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Raises what reading them raises."""
    if sys.version_info < (3, 11) and inspect.isfunction(function):
        # Python 3.10 joins a hint with None where that is the default, which fails for one that cannot be hashed.
        holder = types.SimpleNamespace(__annotations__=function.__annotations__)
        return typing.get_type_hints(holder, inspect.unwrap(function).__globals__, include_extras=True)
    return typing.get_type_hints(function, include_extras=True)


def read_signature(function: Callable[..., Any], is_context: Callable[[str, Any], bool], what: str) -> Signature:
    """Raises ConfigError for hints that say nothing about JSON."""
    try:
        hints = hints_of(function)
    except Exception as error:
        raise ConfigError(f"{what}: its type hints cannot be read ({error}); pass 'args' and 'result' instead.") from None
    description, notes = read_docstring(inspect.getdoc(function) or "")
    properties: dict[str, Schema] = {}
    required: list[str] = []
    parameters: list[Parameter] = []
    takes_any = False
    context = None
    listed = list(inspect.signature(function).parameters.values())
    plain = [p for p in listed if not is_context(p.name, hints.get(p.name))]
    takes_whole = len(plain) == 1 and plain[0].name == "args" and plain[0].kind is not plain[0].VAR_POSITIONAL
    for parameter in listed:
        hint = hints.get(parameter.name, parameter.empty)
        if is_context(parameter.name, hint):
            context = parameter.name
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"{what}: arguments are passed by name, so '{parameter.name}' must be a named parameter.")
        schema, convert = schema_of(hint, Place(f"{what}: parameter '{parameter.name}'", False))
        if parameter.name in notes:
            schema = {**schema, "description": notes[parameter.name]}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            schema = with_default(schema, parameter.default)
        properties[parameter.name] = schema
        if convert:
            convert = partial(read_whole, convert) if takes_whole else partial(read_at, parameter.name, convert)
        parameters.append(Parameter(parameter.name, convert))
    if takes_whole:
        args = properties["args"]
    else:
        args = object_of(properties, required, None if takes_any else False)
    result, convert_result = None, None
    if "return" in hints:
        schema, convert_result = schema_of(result_hint(function, hints["return"]), Place(f"{what}: its result", True))
        result = hoisted(schema) or None
    return Signature(hoisted(args), result, convert_result, description, parameters, takes_any, takes_whole, context)


def read_declared_signature(function: Callable[..., Any], is_context: Callable[[str, Any], bool], what: str, is_given: bool) -> Signature:
    """The same of a function whose schemas may be given: then hints that say nothing about JSON do not matter."""
    try:
        return read_signature(function, is_context, what)
    except ConfigError:
        if not is_given:
            raise
        return read_signature(_without_hints(function), is_context, what)


def _without_hints(function: Callable[..., Any]) -> Callable[..., Any]:
    def bare(**named: Any) -> Any:
        return function(**named)

    listed = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in listed.parameters.values()]
    bare.__signature__ = listed.replace(parameters=parameters, return_annotation=listed.empty)  # type: ignore[attr-defined]
    bare.__annotations__ = {}
    bare.__doc__ = function.__doc__
    return bare
