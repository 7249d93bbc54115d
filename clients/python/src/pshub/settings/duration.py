"""Times as people type them."""

from __future__ import annotations

import re

from ..wire.errors import ConfigError

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_duration(text: str, what: str) -> float:
    """Seconds: a bare number of them, or ``500ms``, ``2s``, ``1.5m``, ``1h``, ``1d``. Raises ConfigError that names ``what`` it was for."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?", text.strip())
    if match is None:
        raise ConfigError(f"{what} must be a duration like 500ms, 2s, 1m, 1h or 1d (a bare number is seconds), not '{text}'.")
    return round(float(match[1]) * _UNIT_S[match[2] or "s"], 3)
