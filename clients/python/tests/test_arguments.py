"""Arguments and options of calls: what is given by name and named as an option is one, and a dict is arguments, whatever they are named."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Server
from job_tasks import hub, serve  # noqa: F401
from pshub import AsyncHub, Context, Expired, Hub, InvalidArgs, TaskFailed, Worker, task
from pshub.settings.table import TABLE

Serve = Callable[..., Worker]

#: Named as options are.
OWN = {"timeout": 30, "queue": "other", "traceparent": "tp", "tracestate": "ts", "signal": 9, "args": 1, "task": 2}


@task("echo:1.0", args={})
def echo(args: Any) -> Any:
    return args


@task("named:1.0")
def named(timeout: float = 0, queue: str = "", signal: int = 0) -> Any:
    return [timeout, queue, signal]


@task("pass_on:1.0", args={})
def pass_on(args: Any, ctx: Context) -> Any:
    return ctx.call(echo, args, timeout=30)


@task("pass_on_async:1.0", args={})
async def pass_on_async(args: Any, ctx: Context) -> Any:
    return await ctx.acall(echo, args, timeout=30)


def test_a_dict_is_arguments(hub: Hub, serve: Serve, server: Server) -> None:
    serve(echo, pass_on, pass_on_async)
    assert hub.call("echo:1.0", OWN, timeout=30) == OWN
    assert hub.submit(echo, OWN, timeout=30, queue="q").result() == OWN
    assert hub.gather({"timeout": (echo, OWN), "queue": (echo, OWN, 30)}, timeout=30)["timeout"].value == OWN
    assert hub.enqueue(echo, OWN, tracked=True).result(timeout_ms=60_000) == OWN
    assert hub.call(pass_on, OWN) == hub.call(pass_on_async, OWN) == OWN

    async def run() -> None:
        async with AsyncHub(server.url) as asking:
            assert await asking.call(echo, OWN, timeout=30) == await asking.submit(echo, OWN) == OWN
            assert (await asking.gather({"timeout": (echo, OWN)}))["timeout"].value == OWN
            assert await (await asking.enqueue(echo, OWN, tracked=True)).result(timeout_ms=60_000) == OWN

    asyncio.run(run())


@pytest.mark.parametrize("nothing", [None, 0, False, "", []])
def test_any_value_is_arguments_also_one_that_says_little(hub: Hub, serve: Serve, nothing: Any) -> None:
    serve(echo, pass_on, pass_on_async)
    for called in (echo, pass_on, pass_on_async):
        assert hub.call(called, nothing) == nothing and type(hub.call(called, nothing)) is type(nothing)


def test_by_name_options_are_options_and_all_else_is_arguments(hub: Hub, serve: Serve) -> None:
    serve(named, echo)
    assert hub.call("named:1.0", timeout=30, queue="q", signal=9) == [0, "", 9]
    assert hub.call("echo:1.0", args=1, task=2, signal=9) == {"args": 1, "task": 2, "signal": 9}
    assert hub.call(named, {"timeout": 3, "queue": "other"}, timeout=30, queue="q") == [3, "other", 0]
    # What is left at its default is none.
    assert hub.call(named, signal=9, timeout=None, queue=None) == [0, "", 9]


def test_what_could_mean_either_is_refused(hub: Hub, serve: Serve, server: Server) -> None:
    @task("both:1.0", args={})
    def both(args: Any, ctx: Context) -> Any:
        how = {"either": lambda: ctx.call(named, timeout=30), "both": lambda: ctx.call(named, {}, signal=9)}
        return how.get(args, lambda: ctx.call(echo, traceparent="00-1"))()

    serve(named, both, echo)
    either = "'timeout' is an option of the call, and named:1.0 has an argument of that name too. Pass its arguments in a dict"
    twice = "not both: signal came with a value"
    for call in (hub.call, hub.submit):
        with pytest.raises(TypeError, match=either):
            call(named, timeout=30)
        with pytest.raises(TypeError, match=twice):
            call(named, {"timeout": 2}, signal=9)
    with pytest.raises(TypeError, match="'a' is listed twice"):
        hub.gather({"a": (echo, 1)}, a=(echo, 2))
    with pytest.raises(InvalidArgs, match="there is no option 'signal'"):
        hub.enqueue(named, {}, signal=9)  # type: ignore[call-overload]
    for how, told in (("either", either), ("both", twice), ("trace", "to pass an argument named 'traceparent', use a dict")):
        with pytest.raises(TaskFailed, match=told):
            hub.call(both, how)

    async def run() -> None:
        async with AsyncHub(server.url) as asking:
            for call in (asking.call, asking.submit):
                for args, more in (((), {"timeout": 2}), (({},), {"signal": 9})):
                    with pytest.raises(TypeError, match=either if not args else twice):
                        await call(named, *args, **more)  # type: ignore[call-overload]

    asyncio.run(run())


def test_times_of_nested_calls_are_checked_as_those_of_others_are(hub: Hub, serve: Serve) -> None:
    @task("outer:1.0", args={})
    def outer(args: Any, ctx: Context) -> Any:
        return ctx.call(echo, 1, timeout=args)

    serve(outer, echo)
    assert hub.call(outer, None) == hub.call(outer, 1) == 1
    for timeout, code in ((0, Expired), (-1, Expired), ("soon", InvalidArgs), (True, InvalidArgs)):
        with pytest.raises(TaskFailed) as failed:
            hub.call(outer, timeout)
        assert failed.value.data["nested"]["code"] == code.__name__


@pytest.mark.parametrize(("maker", "user"), [(Hub, "hub"), (AsyncHub, "hub"), (Worker, "worker")])
def test_options_are_spelled_out(maker: Any, user: str) -> None:
    named = set(inspect.signature(maker).parameters) - {"tasks"}
    assert named == {name for name, setting in TABLE.items() if user in setting.users}
