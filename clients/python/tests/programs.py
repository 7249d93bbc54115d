"""``pshub-worker-py``, as a process of its own and in that of the tests."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from pshub.cli import main
from waits import PATIENCE_S, eventually

HERE = Path(__file__).resolve().parent


def run_command(*arguments: str) -> tuple[int, str, str]:
    """What ``pshub-worker-py`` answers that does not come to serve: exit code, stdout, stderr. In this process, which takes a tenth of the time."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as told:
        try:
            code = main([*arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    return code, out.getvalue(), told.getvalue()


class WorkerProcess:
    """``pshub-worker-py`` with tests/tasks.py, in a process of its own."""

    def __init__(self, url: str, *arguments: str) -> None:
        self.log = tempfile.TemporaryFile()
        command = [sys.executable, "-m", "pshub", str(HERE / "tasks.py"), "--redis", url, *arguments]
        self.process = subprocess.Popen(command, stderr=self.log)
        eventually(self._is_registered, "the worker's registration")

    def _is_registered(self) -> bool:
        said = self.said()
        assert self.process.poll() is None, said
        return '"worker started"' in said

    def said(self) -> str:
        # Its own position in the file is the worker's too.
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Its exit code."""
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
