"""The command ``pshub-worker-py``."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from typing import Any, NoReturn

from .outlets.log import log_to_stderr
from .redis.away import watch_redis
from .settings.duration import parse_duration
from .settings.read import variable
from .task.loading import BrokenModule, load_tasks
from .wire.errors import ConfigError
from .wire.names import near_names
from .wire.version import __version__
from .worker.worker import Worker

logger = logging.getLogger("pshub")

_NAME = "pshub-worker-py"
#: One Ctrl-C can arrive twice: from the terminal, and passed on by whatever runs this.
_SAME_PRESS_S = 0.25
_LEVELS = {"debug": "debug", "info": "info", "warn": "warning", "warning": "warning", "error": "error", "silent": "silent"}
#: Flags that are times, and what they are called in code.
_TIMES = ("grace", "lease")
_NUMBERS = ("slots", "job_slots", "max_payload_bytes", "max_backlog", "health_port")


class _OneQueue(argparse.Action):
    """A second --queue would silently take the place of the first: workers in TypeScript serve several."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        if getattr(namespace, self.dest) is not None:
            raise ConfigError("--queue was given twice. A worker in Python serves one queue; start one for each.")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as the commands of the other languages do."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(re.sub("^argument (--[a-z-]+): expected one argument$", r"\1 needs a value.", message))

    def read(self, arguments: list[str] | None) -> dict[str, Any]:
        given, unknown = self.parse_known_args(arguments)
        if unknown:
            name = unknown[0].split("=")[0]
            flags = [flag[2:] for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            near = " or ".join(f"--{flag}" for flag in near_names(name.lstrip("-"), flags))
            raise ConfigError(f"There is no option {name}." + (f" Did you mean {near}?" if near else ""))
        if not given.modules:
            raise ConfigError(f"Name a module that declares tasks, as in: {_NAME} images.py")
        return vars(given)


def _parser() -> _Parser:
    parser = _Parser(
        prog=_NAME,
        usage=f"{_NAME} [options] module ...",
        # What is an abbreviation today may be two options tomorrow.
        allow_abbrev=False,
        description="Serves every task that the modules declare. Ctrl-C or SIGTERM stops it gracefully: it claims no more requests, "
        "running tasks finish within the grace period, and the rest returns to the queue. A second signal stops it at once. While "
        "Redis is unreachable, it keeps reconnecting. The log is JSON lines on stderr. kill -TTIN <pid> writes the stack of each thread there.",
        epilog="A time is a number of seconds, or has a unit: 500ms, 2s, 1m, 1h, 1d.",
    )
    parser.add_argument("modules", nargs="*", metavar="module", help="package.module, or the path of a file")
    parser.add_argument("--redis", metavar="url", help="default: PSHUB_REDIS, else redis://127.0.0.1:6379")
    parser.add_argument("--queue", metavar="name", action=_OneQueue, help="queue to serve, one (default)")
    parser.add_argument("--slots", metavar="n", help="requests to run at once (4)")
    parser.add_argument("--job-slots", metavar="n", help="how many of the slots may run jobs (half)")
    parser.add_argument("--namespace", metavar="name", help="prefix of all keys (pshub)")
    parser.add_argument("--grace", metavar="time", help="grace period for running tasks when it stops (10s)")
    parser.add_argument("--lease", metavar="time", help="lease: others take over after this long without a heartbeat (4s)")
    parser.add_argument("--max-payload-bytes", metavar="n", help="largest arguments or result (1 MiB)")
    parser.add_argument("--max-backlog", metavar="n", help="requests that may wait in the queue (10000)")
    parser.add_argument("--health-port", metavar="port", help="port that answers probes: /livez and /readyz")
    parser.add_argument("--build", metavar="text", help="build of your program, shown with the worker: a git commit or an image tag")
    parser.add_argument("--statsd", metavar="host:port", help="StatsD daemon for metrics")
    parser.add_argument("--name", metavar="text", help="name in these metrics (PSHUB_NAME, else that of the host)")
    parser.add_argument("--log-level", metavar="level", help="debug, info, warn, error or silent (PSHUB_LOG_LEVEL, else info)")
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _level_of(flag: str | None) -> str:
    level = flag or variable("PSHUB_LOG_LEVEL") or "info"
    if level not in _LEVELS:
        origin = "--log-level" if flag else "PSHUB_LOG_LEVEL"
        raise ConfigError(f"{origin} must be debug, info, warn, error or silent; it is '{level}'.")
    return _LEVELS[level]


def _options_of(given: dict[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name in _TIMES:
            options[name] = parse_duration(options[name], f"--{name}")
        elif name in _NUMBERS and re.fullmatch("-?[0-9]{1,15}", options[name]):
            # What is none is refused with those that are out of range.
            options[name] = int(options[name])
    return options


def _as_flag(message: str) -> str:
    """What is wrong with an option, as who typed a flag knows it."""
    return re.sub(r"^option '(\w+)'", lambda option: "--" + option[1].replace("_", "-"), message)


def _write_stacks(*_: Any) -> None:
    """Where each thread is: the handlers run in those called pshub-slot."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"Thread {names.get(ident, ident)} (most recent call last):\n{stack}")
    sys.stderr.write("\n".join(parts) + "\n")
    sys.stderr.flush()


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 stopped gracefully, 1 a module failed while loading, 2 wrong usage or settings, 128 + n by signal n."""
    try:
        given = _parser().read(arguments)
        log_to_stderr(_level_of(given.pop("log_level")))
        modules = given.pop("modules")
        options = _options_of(given)
        worker = Worker(options.pop("redis", None), tasks=load_tasks(modules, os.getcwd()), **options)
    except ConfigError as error:
        print(f"{_NAME}: {_as_flag(str(error))}", file=sys.stderr)
        return 2
    except BrokenModule as error:
        print(f"{_NAME}: {error}", file=sys.stderr)
        return 1
    return _serve(worker)


def _serve(worker: Worker) -> int:
    """Signals are only noted where they come; what they ask for is done by a thread, so that a second one is heard meanwhile."""
    state: dict[str, Any] = {"signal": 0, "at": 0.0, "code": 0}
    told = threading.Event()
    why_away = watch_redis(worker.events, worker.redis)

    def on_signal(number: int, _: Any) -> None:
        if not state["signal"]:
            state.update(signal=number, at=time.monotonic())
            told.set()
        elif time.monotonic() - state["at"] > _SAME_PRESS_S:
            # At once: the lease ends by itself, and others take over.
            os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    signal.signal(signal.SIGTTIN, _write_stacks)

    def start() -> None:
        try:
            worker.start()
        except ConfigError as error:
            print(f"{_NAME}: {error}", file=sys.stderr)
            state["code"] = 2
            told.set()
        else:
            reason = why_away()
            if reason and not state["signal"]:
                logger.error("%s Reconnecting.", reason)

    threading.Thread(target=start, daemon=True).start()
    while not told.wait(1.0):
        pass
    stopping = threading.Thread(target=worker.stop, daemon=True)
    stopping.start()
    while stopping.is_alive():
        stopping.join(0.2)
    sys.stdout.flush()
    sys.stderr.flush()
    # Handlers that were given up may still run; they must not keep the process.
    os._exit(state["code"])
