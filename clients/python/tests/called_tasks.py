"""Tasks that tests call, in the process of the tests."""

from __future__ import annotations

from typing import Any

from pshub import Context, TaskError, task


@task("echo:1.0", args={})
def echo(args: Any) -> Any:
    return args


@task("add:1.0")
def add(x: int, y: int = 2) -> int:
    return x + y


@task("add:1.1")
def add_more(x: int, y: int = 20) -> int:
    return x + y


@task("fail:1.0")
def fail(how: str = "plain") -> None:
    if how == "task":
        raise TaskError("the disk is full", retryable=True, data={"disk": 1})
    if how == "exit":
        raise SystemExit(3)
    raise ValueError("wrong")


@task("wait:1.0")
def wait(s: float, ctx: Context) -> bool:
    return ctx.aborted.wait(s)


@task("nested_wait:1.0")
def nested_wait(ctx: Context) -> Any:
    return ctx.call("wait:1.0", s=20, timeout=15)


@task("bad_result:1.0", result={"type": "object", "required": ["x"]})
def bad_result(how: str) -> Any:
    return {"nan": float("nan"), "big": {"x": "a" * 2_000_000}, "object": object(), "schema": {"y": 1}}[how]


TASKS = [echo, add, add_more, fail, wait, nested_wait, bad_result]
