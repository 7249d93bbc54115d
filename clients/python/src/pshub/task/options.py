"""What may be said of a task's jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire.errors import ConfigError
from ..wire.job_part import BACKOFF_KINDS, Backoff, is_backoff, is_keyed, is_wait

#: Longest time of a call.
MAX_TIMEOUT_S = 86_400.0
#: Characters that say why a task is dangerous.
_MAX_DANGER = 500
#: A function is given what was raised (None where nothing was) and how often the job has failed by now; it returns milliseconds, or
#: None for a job that is to be given up.
TaskBackoff = Backoff | Callable[[BaseException | None, int], float | None]


def check_job_options(name: str, job_timeout_ms: Any, retries: Any, backoff: Any) -> None:
    """Raises ConfigError for an option that cannot work."""
    is_number = isinstance(job_timeout_ms, (int, float)) and not isinstance(job_timeout_ms, bool)
    if not is_number or not 0 < job_timeout_ms <= MAX_TIMEOUT_S * 1000:
        raise ConfigError(f"{name}: 'job_timeout_ms' must be above 0 and at most {MAX_TIMEOUT_S * 1000:.0f} (a day).")
    if retries is not None and not is_wait(retries):
        raise ConfigError(f"{name}: 'retries' must be a whole number of at least 0.")
    if backoff is not None and not callable(backoff) and not is_backoff(backoff):
        raise ConfigError(f"{name}: 'backoff' must be {BACKOFF_KINDS}, or a function.")


def check_keyed(name: str, keyed: Any, on_failure: Any) -> None:
    """Raises as check_job_options()."""
    if keyed is not None and not is_keyed(keyed):
        raise ConfigError(f"{name}: 'keyed' must be 'ordered' or 'merged', or be left out.")
    if on_failure is not None and on_failure not in ("hold", "pass"):
        raise ConfigError(f"{name}: 'on_failure' must be 'hold' or 'pass'.")
    if on_failure is not None and keyed is None:
        raise ConfigError(f"{name}: 'on_failure' is about jobs with a key; give keyed='ordered' too.")


def check_danger(name: str, dangerous: Any) -> None:
    """Raises as check_job_options()."""
    is_why = isinstance(dangerous, str) and dangerous.strip() != "" and len(dangerous) <= _MAX_DANGER
    if not is_why and not isinstance(dangerous, bool):
        raise ConfigError(f"{name}: 'dangerous' must be True or False, or say why in 1 to {_MAX_DANGER} characters.")
