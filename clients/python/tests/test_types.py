"""A type checker sees what calls return."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import HERE, Server
from job_tasks import hub, serve  # noqa: F401
from pshub import AsyncHub, Context, Hub, InvalidResult, Worker, task

LIBRARY = HERE.parent / "src"


_PROGRAM = """
from pshub import Hub, task

@task("resize:1.0")
def resize(width: int, height: int, box: int = 800) -> list[str]:
    return []

@task("later:1.0")
async def later(n: int) -> int:
    return n

async def user(hub: Hub) -> None:
    reveal_type(resize)
    reveal_type(resize.__call__)
    reveal_type(later)
    reveal_type(await later(1))
    reveal_type(hub.call(later, n=1))
    resize("4000", 3000)
    await later()
"""


def test_a_type_checker_sees_parameters_and_results_of_tasks_and_of_calls(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy could not be installed here")
    assert (LIBRARY / "pshub/py.typed").exists()
    typed = (HERE / "typed_calls.py").read_text(encoding="utf-8")
    programs = {
        "typed_calls.py": typed,
        # The same with one false claim.
        "wrong.py": typed.replace("hub.call(total, [1, 2]), int)", "hub.call(total, [1, 2]), str)"),
        "program.py": _PROGRAM,
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *programs]
    # As for a user: what the package says of itself counts, and what is wrong inside of it is no matter of the user's.
    environment = {**os.environ, "MYPYPATH": ""}
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment).stdout
    errors = {name: [line for line in told.splitlines() if line.startswith(name) and "error:" in line] for name in programs}
    assert errors["typed_calls.py"] == []
    assert len(errors["wrong.py"]) == 1 and '"int"' in errors["wrong.py"][0], told
    assert [line.split("is ", 1)[1].strip('"') for line in told.splitlines() if line.startswith("program.py") and "Revealed type" in line] == [
        "pshub.task.task.Task[[width: int, height: int, box: int =], list[str]]",
        "def (width: int, height: int, box: int =) -> list[str]",
        "pshub.task.task.AsyncTask[[n: int], int]",
        "int",
        "int",
    ]
    first, second = errors["program.py"]
    assert 'Argument 1 to "__call__" of "Task"' in first and "Missing positional argument" in second, told


@dataclass
class Size:
    width: int
    height: int


@task("size:1.0")
def size(width: int) -> Size:
    return Size(width, width * 2)


@task("pair:1.0")
def pair(size: Size) -> tuple[Size | None, int]:
    return (size if size.width else None, size.height)


@task("outer:1.0")
def outer(ctx: Context) -> int:
    return ctx.call(size, width=3).height


def test_the_task_itself_gives_what_its_hint_says_and_its_name_what_travels(hub: Hub, serve: Callable[..., Worker]) -> None:
    serve(size, pair, outer)
    assert hub.call(size, width=1) == Size(1, 2)
    assert hub.call("size:1.0", width=1) == {"width": 1, "height": 2}
    assert hub.call(pair, size=Size(0, 5)) == (None, 5)
    assert hub.call(pair, {"size": {"width": 1, "height": 5}}) == (Size(1, 5), 5)
    assert hub.call(outer) == 6
    assert hub.submit(size, width=2).outcome().value == Size(2, 4)
    assert hub.gather(one=(size, {"width": 2}))["one"].value == Size(2, 4)
    assert hub.enqueue(size, {"width": 4}, tracked=True).result(timeout_ms=60_000) == Size(4, 8)


def test_asyncio(serve: Callable[..., Worker], hub: Hub) -> None:
    import asyncio

    from pshub import AsyncHub

    serve(size)

    async def run() -> list[Any]:
        async with AsyncHub(hub._settings.redis) as asking:
            job = await asking.enqueue(size, {"width": 4}, tracked=True)
            found = await asking.gather(one=(size, {"width": 2}))
            return [await asking.call(size, width=1), found["one"].value, await job.result(timeout_ms=60_000)]

    assert asyncio.run(run()) == [Size(1, 2), Size(2, 4), Size(4, 8)]


def test_another_result_than_the_hint_promises_is_told(hub: Hub, serve: Callable[..., Worker]) -> None:
    serve(task("size:1.0")(lambda width: {"breadth": width}))
    assert hub.call("size:1.0", width=1) == {"breadth": 1}
    with pytest.raises(InvalidResult, match="^The result of size:1.0 does not match the return type of its function: ") as failed:
        hub.call(size, width=1)
    assert failed.value.ran == "yes"
    assert isinstance(hub.submit(size, width=1).outcome().error, InvalidResult)


def test_tasks_by_name_are_those_of_the_hub(server: Server, serve: Callable[..., Worker], hub: Hub) -> None:
    @task("half:1.0")
    def half(n: int) -> float:
        return n / 2

    serve(half)
    assert hub.tasks["half:1.0"].call({"n": 3}, timeout=5) == 1.5
    assert hub.tasks["half"].enqueue({"n": 5}, tracked=True).result() == 2.5
    with hub.tasks["half:1"].stream({"n": 1}) as stream:
        assert list(stream) == []

    async def of_asyncio() -> list[Any]:
        async with AsyncHub(server.url) as own:
            named = own.tasks["half:1.0"]
            job = await named.enqueue({"n": 7}, tracked=True)
            async with named.stream({"n": 1}) as stream:
                chunks = [chunk async for chunk in stream]
            return [await named.call({"n": 9}), await job.result(), chunks]

    assert asyncio.run(of_asyncio()) == [4.5, 3.5, []]
