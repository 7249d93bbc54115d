"""The golden files of all languages, held against this package."""

from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any

import pytest

import pshub
from conftest import vectors
from pshub.catalogue.cards import read_task_card, read_worker_card
from pshub.figures.histogram import Histogram, bucket_of
from pshub.figures.recent_failures import RecentFailures
from pshub.figures.task_stats import TaskStats
from pshub.hub import forecast as forecast_module
from pshub.wire.errors import ERROR_CLASSES, ConfigError, HubError, ToldError, from_wire
from pshub.wire.foreign import Unreadable
from pshub.wire.keys import Keys, is_id, is_namespace, is_queue_name
from pshub.wire.message import MalformedMessage, Request, decode_reply, decode_request, told
from pshub.wire.names import newest_first, parse_called_name, parse_task_name, try_parse_task_name
from pshub.wire.payload import PayloadProblem, decode_payload, encode_payload
from pshub.wire.phases import Phases


def test_names() -> None:
    names = vectors("names.json")
    for kind, check in (("namespaces", is_namespace), ("queues", is_queue_name), ("ids", is_id)):
        assert [text for text in names[kind]["valid"] if not check(text)] == []
        assert [text for text in names[kind]["invalid"] if check(text)] == []
    for case in names["declared"]:
        parsed = try_parse_task_name(case["name"])
        if case["parsed"] is None:
            assert parsed is None, case["name"]
            with pytest.raises(ConfigError, match="is not a task name"):
                parse_task_name(case["name"])
        else:
            assert parsed == (case["name"], *(case["parsed"][key] for key in ("name", "major", "minor")))
    for case in names["called"]:
        expected = case["parsed"] and tuple(case["parsed"].get(key) for key in ("name", "major", "minor"))
        assert parse_called_name(case["name"]) == expected, case["name"]
    ordered = names["newestFirst"]
    assert [name.full for name in sorted(map(parse_task_name, sorted(ordered)), key=newest_first)] == ordered


def _read(read: Any, text: str) -> Any:
    try:
        return read(text.encode())
    except Unreadable:
        return None


def test_cards() -> None:
    cards = vectors("cards.json")
    for case in cards["tasks"]:
        card = _read(read_task_card, case["text"])
        if case["card"] is None:
            assert card is None, case["title"]
            continue
        assert card is not None
        limits = (None if limit == math.inf else limit for limit in (card.max_payload_bytes, card.max_backlog))
        args = None if card.args is None else json.loads(card.args)
        read = (card.task, card.queue, card.timeout_ms, card.idempotent, card.keyed, args, *limits)
        assert read == tuple(case["card"].values()), case["title"]
    for case in cards["workers"]:
        worker = _read(read_worker_card, case["text"])
        read_worker = worker and {"id": worker.id, "slots": worker.slots, "tasks": worker.tasks, "build": worker.build}
        assert read_worker == case["card"], case["title"]


def test_reply_lists() -> None:
    lists = vectors("reply-lists.json")
    keys = Keys(lists["namespace"])
    for case in lists["cases"]:
        assert keys.hub_id_of(case["result_queue"]) == case["hubId"], case
        if case["hubId"] is not None:
            assert keys.reply(case["hubId"]) == case["result_queue"]


_REQUESTS = vectors("requests.json")


@pytest.mark.parametrize("case", _REQUESTS["cases"], ids=lambda case: case["title"])
def test_requests(case: Any) -> None:
    keys = Keys(_REQUESTS["namespace"])
    if "malformed" in case:
        with pytest.raises(MalformedMessage, match=case["malformed"]):
            decode_request(case["text"].encode(), case.get("heldId"), keys)
        return
    request = decode_request(case["text"].encode(), case.get("heldId"), keys)
    read = {
        "id": request.id,
        "heldId": request.held_id,
        "atUs": request.at_us,
        "ttlMs": request.ttl_ms,
        "task": request.task,
        "args": request.args,
        "hubId": request.hub_id,
        "from": request.from_,
        "traceparent": request.traceparent,
        "tracestate": request.tracestate,
        "losses": request.losses,
        "idempotent": request.idempotent,
        "job": request.job,
        "then": request.then,
        "asked": request.asked and request.asked._asdict(),
    }
    read = json.loads(json.dumps(read))
    expected = {"idempotent": False, "job": None, "then": None, "asked": None, **case["request"]}
    # What is absent in a part is null in the file.
    expected["job"] = expected["job"] and {name: each for name, each in expected["job"].items() if each is not None}
    assert read == expected
    assert request.text == case["text"]


def test_marks() -> None:
    marks = vectors("marks.json")

    def decoded(text: str) -> Request:
        return decode_request(text.encode(), None, Keys("pshub"))

    for case in marks["read"]:
        request = decoded(case["text"])
        assert (request.losses, request.may_have_run) == (case["losses"], case["mayHaveRun"]), case["title"]
    for case in marks["told"]:
        error = ToldError(case["error"]["code"], case["error"]["message"], json.dumps(case["error"]))
        said = told(decoded(case["text"]), error)
        assert json.loads(said.text) == case["told"], case["title"]
        assert (said.code, said.message) == (case["told"]["code"], case["told"]["message"])


def _or_none(value: Any) -> Any:
    return None if value == math.inf else value


@pytest.mark.parametrize("case", vectors("forecast.json")["cases"], ids=lambda case: case["title"])
def test_forecast(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = forecast_module.Forecast()
    told.slots = case["slots"]
    for at, kind, *given in case["steps"]:
        monkeypatch.setattr(forecast_module, "now_ms", lambda at=at: at)
        if kind == "slots":
            told.slots = given[0]
        elif kind != "ask":
            getattr(told, kind)(*given)
        else:
            left, ahead, expected = given
            known = {
                "length": told.length(),
                "within": _or_none(told.length_within(left)),
                "waitMs": told.wait_ms(ahead),
                "patienceMs": told.patience_ms(left),
            }
            assert known == pytest.approx(expected), at


def test_replies() -> None:
    assert "us" in decode_reply('{"id":"a","ok":true,"us":{"backlog":0,"queue":0,"exec":0}}')  # type: ignore[operator]
    for case in vectors("replies.json")["cases"]:
        reply = decode_reply(case["text"].encode("utf-8", "surrogatepass"))
        if reply is not None and "progress" in reply:
            reply["progress"] = json.loads(reply["progress"].text)
        assert reply == case["reply"], case["title"]


def test_errors() -> None:
    errors = vectors("errors.json")
    table = [
        {"code": code, "ran": cls.ran, "retryable": cls.retryable, "status": cls.http_status, "meaning": cls.meaning}
        for code, cls in ERROR_CLASSES.items()
    ]
    assert table == errors["table"]
    for code, cls in ERROR_CLASSES.items():
        assert cls.__name__ == code and getattr(pshub, code) is cls and issubclass(cls, HubError)
    for case in errors["cases"]:
        error = from_wire(case["error"])
        read = {
            "code": error.code,
            "message": error.message,
            "ran": error.ran,
            "retryable": error.retryable,
            "status": error.http_status,
            "data": error.data,
        }
        assert read == case["expected"]


def test_problems() -> None:
    file = vectors("problems.json")
    for case in file["cases"]:
        problem = pshub.problem_of(from_wire(case["error"]))
        assert problem.body == case["body"] and problem.status == case["body"]["status"]
        wait = {} if case["retryAfter"] is None else {"retry-after": case["retryAfter"]}
        assert problem.headers == {"content-type": "application/problem+json", **wait}
    for header, timeout_ms in file["timeouts"]:
        if timeout_ms is None:
            with pytest.raises(pshub.InvalidArgs, match="pshub-timeout-ms"):
                pshub.timeout_of(header, 5.0)
        else:
            assert pshub.timeout_of(header) == timeout_ms / 1000
            assert pshub.timeout_of(header, 0.5) == min(timeout_ms / 1000, 0.5)
    assert pshub.timeout_of(None, 2.0) == 2.0 and pshub.timeout_of(None) is None


def test_payloads() -> None:
    payloads = vectors("payloads.json")
    for text in payloads["unchanged"]:
        assert encode_payload(decode_payload(text)) == text
    for case in payloads["rewritten"]:
        # 1.0 stays 1.0 here, which is the same number as 1.
        assert decode_payload(encode_payload(decode_payload(case["text"]))) == decode_payload(case["to"]), case["why"]
    for case in payloads["refused"]:
        with pytest.raises(PayloadProblem):
            decode_payload(case["text"])


def test_histograms() -> None:
    histograms = vectors("histograms.json")
    for value, bucket, _ in histograms["buckets"]:
        assert bucket_of(value) == bucket
    for case in histograms["cases"]:
        recorded = Histogram()
        for value in case["values"]:
            recorded.record(value)
        assert recorded.to_json() == case["histogram"]
    for case in histograms["merged"]:
        total = Histogram()
        for part in case["parts"]:
            other = Histogram()
            other.counts = dict(zip(accumulate(part["counts"][::2]), part["counts"][1::2]))
            other.sum, other.max = part["sum"], part["max"]
            total.add(other)
        assert total.to_json() == case["histogram"]


def test_measured() -> None:
    measured = vectors("measured.json")
    for case in measured["taskStats"]:
        stats = TaskStats()
        for call in case["calls"]:
            for _ in range(call["times"]):
                if call["us"] is None:
                    stats.expired(call["task"], call["from"])
                else:
                    stats.ran(call["task"], call["code"], call.get("status"), Phases(**call["us"]), call["from"])
        assert json.loads(stats.text())["tasks"] == case["tasks"], case["title"]
    for case in measured["failures"]:
        recent = RecentFailures()
        for each in case["failures"]:
            recent.keep(each["task"], each["id"], each["at"], each["code"], each["message"], each["from"], each["execUs"])
        assert json.loads(recent.text()) == case["published"], case["title"]
