"""The golden file of schedules' times, held against this package."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from conftest import vectors
from pshub import InvalidArgs
from pshub.jobs.cron import next_ms
from pshub.jobs.schedule_entry import ScheduleEntry, check_times, tick_of

_CRON = vectors("cron.json")


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def _iso(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("case", _CRON["next"], ids=lambda case: f"{case['cron']} {case['timezone']}")
def test_next(case: Any) -> None:
    at: int | None = _ms(case["after"])
    for expected in case["next"]:
        assert at is not None
        at = next_ms(case["cron"], case["timezone"], at)
        assert _iso(at) == expected


@pytest.mark.parametrize("case", _CRON["refused"], ids=lambda case: f"{case['cron']} {case['timezone']}")
def test_refused(case: Any) -> None:
    with pytest.raises(InvalidArgs) as caught:
        check_times("n", {"cron": case["cron"], "timezone": case["timezone"]})
    assert str(caught.value).endswith(f": {case['why']}.")


@pytest.mark.parametrize("case", _CRON["ticks"], ids=lambda case: f"{case['tick']} {case['missed']} {case['now']}")
def test_ticks(case: Any) -> None:
    entry = ScheduleEntry(case["cron"], None, case["missed"], "a:1.0", "{}", None, 0, None, None)
    message, following = tick_of(entry, _ms(case["tick"]), _ms(case["now"]), "q")
    assert (message != "", _iso(following)) == (case["enqueues"], case["next"])
