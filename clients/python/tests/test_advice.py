"""What people are told in the same words by all languages: clients/vectors/advice.json."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from conftest import Server, vectors
from pshub import ConfigError, Hub, HubError, Worker, task
from pshub.figures.events import Events
from pshub.outlets.log import Line, log_events
from pshub.redis.away import away_text
from pshub.settings.duration import parse_duration

ADVICE = vectors("advice.json")
LEVELS = {"DEBUG": "debug", "INFO": "info", "WARNING": "warn", "ERROR": "error"}


def lines_of(caplog: Any, event: str, **members: str) -> list[tuple[str, str, dict[str, Any]]]:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "pshub"):
        events = Events()
        log_events(events)
        events.emit(event, **members)
    told = [(record.levelname, record.msg) for record in caplog.records if isinstance(record.msg, Line)]
    return [(LEVELS[level], line.message, line.fields) for level, line in told]


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: values[name[1]], text)


def test_lines_of_the_log(caplog: Any) -> None:
    for case in ADVICE["log"]:
        members = {name: f"<{name}>" for name in re.findall(r"\{(\w+)\}", case["message"])}
        lines = [(case["level"], filled(case["message"], members), members)]
        assert lines_of(caplog, case["event"], **members) == lines


def test_lines_about_a_connection_that_is_gone(caplog: Any) -> None:
    for case in ADVICE["retrying"]:
        fields = {"role": "worker commands", "reason": case["told"]}
        lines = lines_of(caplog, "redis:down", role="worker commands", reason=case["reason"])
        assert lines == [(case["level"], case["message"], fields)]
        assert str(Line(case["message"], fields)).endswith(f"reason={case['told']}")


def test_keys_of_arguments_are_in_no_line(caplog: Any) -> None:
    problems = [{"pointer": "/secret", "message": "is not a known field"}, {"pointer": "/other", "message": "is not a known field"}]
    fields = {"task": "a:1.0", "queue": "q", "id": "1", "code": "InvalidArgs", "message": "/secret is not a known field"}
    [(level, message, told)] = lines_of(caplog, "task:settled", ok=False, outcome="rejected", problems=problems, **fields)  # type: ignore[arg-type]
    assert (level, message, told["reason"]) == ("warn", "task rejected", "is not a known field")
    assert "secret" not in str(told)


def test_a_redis_that_is_away() -> None:
    for away in ADVICE["away"]:
        assert away_text(away["redis"], away["reason"]) == away["told"]
    assert away_text({"host": "db", "password": "secret"}, "gone").startswith("Redis at db:6379 could not be reached: gone;")


@pytest.mark.parametrize("case", ADVICE["durations"]["cases"], ids=lambda case: repr(case["text"]))
def test_durations(case: dict[str, Any]) -> None:
    text = case["text"]
    if case["ms"] is not None:
        assert parse_duration(text, "--grace") * 1000 == case["ms"]
        return
    with pytest.raises(ConfigError) as wrong:
        parse_duration(text, "--grace")
    assert str(wrong.value) == filled(ADVICE["durations"]["wrong"], {"what": "--grace", "text": text})


def test_calls(server: Server) -> None:
    calls = ADVICE["calls"]
    workers = []
    for served in calls["tasks"]:
        tasks = [task(name, args=calls["args"])(lambda args: 1) for name in served["tasks"]]
        worker = Worker(server.url, queue=served["queue"], tasks=tasks).start()
        workers.append(worker)
        if served["left"]:
            worker.stop()
    with Hub(server.url) as hub:
        for case in calls["cases"]:
            options: dict[str, Any] = {"queue": case["queue"]} if "queue" in case else {}
            if "timeoutMs" in case:
                options["timeout"] = case["timeoutMs"] / 1000
            act, name = (hub.call, case["call"]) if "call" in case else (hub.enqueue, case["enqueue"])
            with pytest.raises(HubError) as failed:
                act(name, case.get("args", {}), **options)
            values = {"start": "pshub-worker-py <module>", "problems": "; ".join(calls["problems"])}
            assert (failed.value.code, failed.value.ran) == (case["code"], "no")
            assert with_sorted_problems(failed.value.message) == filled(case["message"], values)
    for worker in workers:
        worker.stop()


def with_sorted_problems(message: str) -> str:
    """Each language finds them in an order of its own."""
    return re.sub(r"(?<=: )(/.*)(?=\.$)", lambda found: "; ".join(sorted(found[1].split("; "))), message)
