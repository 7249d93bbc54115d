"""
Runs a Python module as a process of the demo: ``leave_with_parent.py package.module arguments``.

When the process that started it is gone, however that came, nobody holds the other end of its standard input, and it leaves too.
"""

import os
import runpy
import signal
import sys
import threading


def _leave_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=_leave_with_parent, daemon=True).start()
# The module and not this file's folder is what imports are looked for beside.
sys.path.pop(0)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
