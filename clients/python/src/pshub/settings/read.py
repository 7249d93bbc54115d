"""Reads the settings of a hub or a worker: option, else environment, else default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..wire.errors import ConfigError
from .table import TABLE, Settings


def variable(name: str) -> str | None:
    """
    Of the environment; None when it is not set, or empty. Without the line break that a file of secrets ends with. Quotes are a part of it:
    whatever read the file kept them. Raises ConfigError.
    """
    text = os.environ.get(name, "").strip(" \t\n\v\f\r")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        raise ConfigError(f"{name} has quotes around its value; leave them out.")
    return text or None


def read_settings(user: str, options: Mapping[str, Any]) -> Settings:
    """Raises ConfigError that names the setting, where its value came from, and what would be right."""
    known = [name for name, setting in TABLE.items() if user in setting.users]
    settings = Settings()
    for name in known:
        setting = TABLE[name]
        origin = f"option {name!r}"
        value = options.get(name)
        text = variable(setting.env) if value is None else None
        if text:
            origin = setting.env
            try:
                value = setting.parse(text)
                if setting.env_factor != 1:
                    value /= setting.env_factor
            except ValueError:
                value = text
        elif value is None:
            value = setting.fallback() if callable(setting.fallback) else setting.fallback
        wrong = setting.check(value)
        if wrong:
            shown = "" if name == "redis" else f"; it is {value!r}"
            raise ConfigError(f"{origin} {wrong}{shown}.")
        setattr(settings, name, value)
    return settings
