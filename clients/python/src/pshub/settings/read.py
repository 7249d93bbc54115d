"""Reads the settings of a hub or a worker: option, else environment, else default."""

from __future__ import annotations

import os
from typing import Any, Mapping

from ..wire.errors import ConfigError
from .table import TABLE, Settings


def read_settings(user: str, options: Mapping[str, Any]) -> Settings:
    """Raises ConfigError that names the setting, where its value came from, and what would be right."""
    known = [name for name, setting in TABLE.items() if user in setting.users]
    settings = Settings()
    for name in known:
        setting = TABLE[name]
        origin = f"option {name!r}"
        value = options.get(name)
        text = os.environ.get(setting.env)
        if value is None and text:
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
