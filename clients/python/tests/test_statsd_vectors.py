"""Metrics, as a StatsD daemon gets them: the table and the lines of all languages."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

import pytest

from conftest import vectors
from pshub.figures.events import Events
from pshub.outlets.metrics import METRICS
from pshub.outlets.statsd import send_metrics
from pshub.wire.phases import Phases
from waits import PATIENCE_S

_VECTORS = vectors("statsd.json")


def test_the_table_is_that_of_all_languages() -> None:
    listed = [each for each in _VECTORS["metrics"] if "only" not in each]
    assert listed == [{"name": name, "type": type, "tags": [*tags]} for name, type, tags in METRICS.values()]


@pytest.mark.parametrize("case", _VECTORS["cases"], ids=lambda case: case["event"])
def test_lines_are_those_of_all_languages(case: dict[str, Any]) -> None:
    told = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): value for name, value in case["with"].items()}
    if "us" in told:
        told["us"] = Phases(**told["us"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(PATIENCE_S)
        events = Events()
        client = send_metrics(events, f"127.0.0.1:{daemon.getsockname()[1]}", _VECTORS["name"])
        assert client is not None

        # On an event loop, as everywhere, which collects lines.
        async def emit() -> None:
            # There may be no lines; this one comes in any case.
            events.emit("request:malformed", queue="end")
            events.emit(case["event"], **{"code": None, "key_us": None, **told})

        asyncio.run(emit())
        client.close()
        sent = [line for line in daemon.recv(65_536).decode().split("\n") if "queue:end" not in line]
    assert sorted(re.sub(r"-\d+(-\d+)?(?=,name)", "-<pid>", line) for line in sent) == sorted(case["lines"])
