"""The golden file of jobs, held against this package."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import vectors
from pshub.jobs.backoff import delay_after
from pshub.jobs.chain import following_of
from pshub.jobs.enqueue_options import shape_of
from pshub.wire.job_part import failure_text, job_part_text
from pshub.wire.keys import Keys
from pshub.wire.message import decode_request

_JOBS = vectors("jobs.json")


def test_delays() -> None:
    for case in _JOBS["delays"]:
        assert delay_after(case["backoff"], case["failures"], case["random"]) == case["ms"], case


def test_delays_are_spread() -> None:
    assert len({delay_after("exponential", 10) for _ in range(20)}) > 5


def test_parts() -> None:
    for case in _JOBS["parts"]:
        assert job_part_text(case["part"]) == case["text"], case["title"]
        assert json.loads(case["text"]) == case["part"], case["title"]


def test_failures() -> None:
    for case in _JOBS["failures"]:
        assert failure_text(case["code"], case["message"], case.get("status")) == case["text"]


def test_uniques() -> None:
    for case in _JOBS["uniques"]:
        part = shape_of(case["task"], case["args"], {"unique": True}, None).part
        assert part is not None and part["unique"] == case["unique"], case["args"]


@pytest.mark.parametrize("case", _JOBS["following"], ids=lambda case: case["title"])
def test_following(case: Any) -> None:
    request = decode_request(case["request"], None, Keys("pshub"))
    assert following_of(request, case["result"], "q") == case["following"]
