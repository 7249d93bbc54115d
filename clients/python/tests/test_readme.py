"""The code in README: all of it can be parsed, and the chapter about jobs runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Server, eventually
from job_tasks import PREFIX, hub, noted, serve  # noqa: F401
from pshub import Context, Hub, PutOff, TaskError, Worker, task

ROOT = Path(__file__).resolve().parents[3]
README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def _code(text: str) -> list[str]:
    return re.findall(r"^```python(?: outline)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_all_code_can_be_parsed() -> None:
    blocks = _code(README)
    assert len(blocks) > 8
    for block in blocks:
        # As it stands where it may be awaited.
        compile("async def outer():\n" + re.sub("^", "    ", block, flags=re.MULTILINE), "README.md", "exec")


@pytest.mark.long
def test_the_chapter_about_jobs_runs(server: Server, hub: Hub, serve: Callable[..., Worker]) -> None:
    @task("report:1.0")
    def report(month: str) -> str:
        return f"all of {month}"

    @task("store:1.0")
    def store(album: int, report: str) -> str:
        return f"{album}: {report}"

    mails: list[str] = []
    enqueuing, declaring, keys, timed = _code(README.split("## Jobs\n")[1].split("\n## ")[0])
    names: dict[str, Any] = {"hub": hub, "task": task, "Context": Context, "PutOff": PutOff, "TaskError": TaskError}
    exec(compile(declaring, "README.md", "exec", dont_inherit=True), names)
    declared = names["mail"]
    assert (declared.retries, declared.backoff, declared.job_timeout_ms) == (10, "polynomial", 60_000)
    worker = serve(report, store, names["ship"], names["sync"], task("mail:1.0")(lambda to: mails.append(to)))
    settled = noted(worker, "task:settled")
    exec(compile(enqueuing, "README.md", "exec", dont_inherit=True), names)
    assert names["job"].status().state == "done"
    assert names["chain"].result() == "7: all of 2026-11"
    # Of the six of them one is due in a minute; and one follows the batch.
    eventually(lambda: len(mails) == 6)
    assert sorted(mails) == ["a", *["a@example.com"] * 4, "b"]
    eventually(lambda: [event["ok"] for _, event in settled if event["task"] == "ship:1.0"] == [True])
    assert server.client.zcard(f"{PREFIX}scheduled") == 1
    eventually(lambda: [event["ok"] for _, event in settled if event["task"] == "sync:1.0"] == [True])
    exec(compile(keys, "README.md", "exec", dont_inherit=True), names)
    assert names["key"].status().state == "empty"
    exec(compile(timed.replace("[...]", "[]"), "README.md", "exec", dont_inherit=True), names)
    assert [each.name for each in names["schedules"].list()] == ["nightly"] and names["dead"].count() == 0
    names["schedules"].remove("nightly")
