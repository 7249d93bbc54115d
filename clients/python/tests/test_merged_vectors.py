"""The golden file of merged jobs, held against this package."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conftest import vectors
from pshub import InvalidArgs, PutOff, Task, TaskError, task
from pshub.jobs.chain import Step, step_message
from pshub.jobs.enqueue_options import payload_text, shape_of
from pshub.jobs.held_job import held_as_job
from pshub.jobs.verdict import done_end, failed_end
from pshub.wire.errors import told_error
from pshub.wire.keys import Keys
from pshub.wire.message import Request, decode_request
from pshub.wire.payload import compact
from pshub.worker.merged_run import _UNREADABLE, cut_run, refused_run, run_args

_MERGED = vectors("merged.json")
_KEYS = Keys("pshub")


def _titled(section: str) -> Any:
    return pytest.mark.parametrize("case", _MERGED[section], ids=lambda case: case["title"])


def _task(**options: Any) -> Task[..., Any]:
    return task("sync:1.0", keyed="merged", **options)(lambda by_key: None)


def _options(case: Any) -> dict[str, Any]:
    """In Python's names."""
    return {re.sub("[A-Z]", lambda big: f"_{big[0].lower()}", name): value for name, value in case["options"].items()}


def _read(message: str) -> Request:
    """As a worker does."""
    request = cut_run(message.encode(), _KEYS)
    if request is None:
        request = decode_request(message, None, _KEYS)
        request.held_id = held_as_job(request.held_id)
    return request


@_titled("enqueued")
def test_enqueued(case: Any) -> None:
    part, ttl_ms = shape_of(case["task"], case["args"], _options(case), "merged", case.get("scores"))
    step = Step("x", case["task"], "q", payload_text(case["args"]), part, ttl_ms)
    assert step_message([step], "shop", "a") == case["message"].replace("<id>", "x")


@_titled("refused")
def test_refused(case: Any) -> None:
    with pytest.raises(InvalidArgs, match=re.escape(case["says"])):
        shape_of("sync:1.0", "1", _options(case), "merged")


@_titled("runs")
def test_runs(case: Any) -> None:
    request = _read(case["message"])
    run = run_args(request)
    assert run is not None
    shown = [[key, [None if each is _UNREADABLE else compact(each) for each in payloads]] for key, payloads in run]
    assert shown == case["byKey"]
    end = refused_run(request, _task(), run)
    assert (end and " ".join(end.words or ())) == case.get("words")


@_titled("refusedRuns")
def test_refused_runs(case: Any) -> None:
    request = _read(case["message"])
    run = run_args(request)
    assert run is not None
    end = refused_run(request, _task(args=json.loads(case["schema"])), run)
    assert (end and " ".join(end.words or ())) == case["words"]


@_titled("ends")
def test_ends(case: Any) -> None:
    request, outcome = _read(case["message"]), case["outcome"]
    if outcome.get("ok"):
        end = done_end(request, "null", "q")
    else:
        raised: BaseException | None = TaskError("no", retryable=not outcome.get("isFinal"))
        if "putOffMs" in outcome:
            raised = PutOff(outcome["putOffMs"])
        options = {name: case[name] for name in ("retries", "backoff") if name in case}
        end = failed_end(request, _task(**options), told_error(outcome.get("code", "TaskFailed"), "no"), raised)
    assert end is not None and end.id == "job:m-7"
    assert (end.outcome, end.words and " ".join(end.words)) == (case["how"], case["words"])


def test_what_is_no_run_is_not_cut_run() -> None:
    head = '{"at":1,"ttl":0,"id":"m-7","job":{"fence":7,"run":'
    for run in ('[["a",0]]', "[7]", '[["a",0,["x",1]]]', '[["a",0,[1e999,1]]]', "{}", "7", '[["a",0,7]]'):
        assert cut_run(f'{head}{run}}},"task":"sync:1.0","args":[{{not]}}'.encode(), _KEYS) is None, run
    assert cut_run(b'{"at":1,"ttl":0,"id":"m-7","task":"sync:1.0","args":[{not]}', _KEYS) is None
    assert cut_run(b"\xff", _KEYS) is None
