"""The golden file of shards, held against this package."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import vectors
from pshub.jobs.job_text import moved_message
from pshub.queue.shards import home_of, parse_shards

_SHARDS = vectors("shards.json")


def test_records() -> None:
    for case in _SHARDS["records"]:
        found = parse_shards(case["text"].encode(), case["queue"])
        shown = found and {
            "epoch": found.epoch,
            "names": list(found.names),
            "isComing": found.is_coming,
            "earlier": found.earlier and list(found.earlier),
        }
        assert shown == case["shards"], case["text"]


def test_homes() -> None:
    for case in _SHARDS["homes"]:
        assert home_of(tuple(case["names"]), case["key"]) == case["home"], case["key"]


@pytest.mark.parametrize("case", _SHARDS["moved"], ids=lambda case: case["title"])
def test_moved(case: Any) -> None:
    assert moved_message(case["text"], case["nowUs"]) == case["message"]
