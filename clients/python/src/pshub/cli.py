"""The command ``pshub-worker-py``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Dict, List, Optional

from .outlets.log import log_to_stderr
from .task.task import Task, tasks_of
from .wire.errors import ConfigError
from .wire.version import __version__
from .worker.worker import Worker

logger = logging.getLogger("pshub")

#: One Ctrl-C can arrive twice: from the terminal, and passed on by whatever runs this.
_SAME_PRESS_S = 0.25


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pshub-worker-py",
        description="Serves every task that the modules declare. Ctrl-C or SIGTERM stop it gracefully: it takes no more work, lets "
        "what runs finish within the grace, and puts the rest back for other workers. A second one ends it at once. While Redis is "
        "away it goes on trying. The log is lines of JSON on stderr. kill -TTIN <pid> has it write there where each thread is.",
    )
    parser.add_argument("modules", nargs="+", metavar="module", help="package.module, or the path of a file")
    parser.add_argument("--redis", metavar="url", help="default: PSHUB_REDIS, else redis://127.0.0.1:6379")
    parser.add_argument("--queue", metavar="name", help="queue to serve (default)")
    parser.add_argument("--slots", metavar="n", type=int, help="calls to run at once (4)")
    parser.add_argument("--job-slots", metavar="n", type=int, help="how many of them may run jobs (half)")
    parser.add_argument("--namespace", metavar="name", help="prefix of all keys (pshub)")
    parser.add_argument("--grace", metavar="seconds", type=float, help="what runs may take when it is told to stop (10)")
    parser.add_argument("--lease", metavar="seconds", type=float, help="others take over when it is silent for this long (4)")
    parser.add_argument("--max-payload-bytes", metavar="n", type=int, help="largest arguments or result (1 MiB)")
    parser.add_argument("--max-backlog", metavar="n", type=int, help="requests that may wait in the queue (10000)")
    parser.add_argument("--statsd", metavar="host:port", help="send metrics there")
    parser.add_argument("--log-level", default=os.environ.get("PSHUB_LOG_LEVEL", "info"), metavar="level",
                        choices=["debug", "info", "warn", "warning", "error", "silent"])  # fmt: skip
    parser.add_argument("--version", action="version", version=__version__)
    return parser


def _load(name: str) -> Any:
    path = Path(name)
    if name.endswith(".py") and path.exists():
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(name)


def _tasks_in(names: List[str]) -> List[Task]:
    sys.path.insert(0, os.getcwd())
    found: List[Task] = []
    for name in names:
        tasks = tasks_of(_load(name))
        if not tasks:
            raise ConfigError(f"{name} declares no task with @task.")
        found += [each for each in tasks if not any(each is known for known in found)]
    return found


def _write_stacks(*_: Any) -> None:
    """Where each thread is: the handlers run in those called pshub-slot."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"Thread {names.get(ident, ident)} (most recent call last):\n{stack}")
    sys.stderr.write("\n".join(parts) + "\n")
    sys.stderr.flush()


def main(arguments: Optional[List[str]] = None) -> int:
    """Exit codes: 0 stopped gracefully, 1 a module failed while it was loaded, 2 wrong usage or settings, 128 + n by signal n."""
    given = vars(_parser().parse_args(arguments))
    log_to_stderr(given.pop("log_level").replace("warn", "warning").replace("warninging", "warning"))
    modules = given.pop("modules")
    options = {name: value for name, value in given.items() if value is not None}
    try:
        worker = Worker(options.pop("redis", None), tasks=_tasks_in(modules), **options)
    except ConfigError as error:
        print(f"pshub-worker-py: {error}", file=sys.stderr)
        return 2
    except Exception:
        logger.exception("a module failed while it was loaded")
        return 1
    return _serve(worker)


def _serve(worker: Worker) -> int:
    """Signals are only noted where they come; what they ask for is done by a thread, so that a second one is heard meanwhile."""
    state: Dict[str, Any] = {"signal": 0, "at": 0.0, "code": 0}
    told = threading.Event()

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
            print(f"pshub-worker-py: {error}", file=sys.stderr)
            state["code"] = 2
            told.set()

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
