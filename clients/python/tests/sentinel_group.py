"""A master, its replica, and the sentinels that watch over them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import redis as redispy

from conftest import PortTaken, Server, eventually, on_free_port

NAME = "mymaster"
#: A master that is silent for so long is down for them; and how long a failover may take until the next try.
_CONFIG = """\
port {port}
bind 127.0.0.1
dir {dir}
requirepass ""
sentinel monitor {name} 127.0.0.1 {master} 2
sentinel down-after-milliseconds {name} 1000
sentinel failover-timeout {name} 4000
sentinel parallel-syncs {name} 1
"""


class Sentinel:
    def __init__(self, master: int) -> None:
        self.dir = tempfile.mkdtemp(prefix="pshub-sentinel-")
        on_free_port(lambda port: self._begin(port, master))

    def _begin(self, port: int, master: int) -> None:
        self.port = port
        config = Path(self.dir) / "sentinel.conf"
        config.write_text(_CONFIG.format(port=self.port, dir=self.dir, name=NAME, master=master))
        command = [os.environ.get("PSHUB_TEST_SERVER", "redis-server"), str(config), "--sentinel"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.client = redispy.Redis(port=self.port, decode_responses=True)
        eventually(self._is_up, "the start of a sentinel")

    def _is_up(self) -> bool:
        if self.process.poll() is not None:
            raise PortTaken(f"a sentinel ended by itself; its port {self.port} may be another's")
        try:
            return bool(self.client.info("server")["process_id"] == self.process.pid)
        except redispy.RedisError:
            return False

    def state(self) -> Any:
        """What it knows of the master; nothing while it cannot be asked."""
        try:
            return self.client.sentinel_master(NAME)
        except redispy.RedisError:
            return None

    def is_set(self, sentinels: int) -> bool:
        state = self.state()
        return bool(state and state["num-other-sentinels"] == sentinels - 1 and state["num-slaves"] >= 1)

    def close(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


class Group:
    def __init__(self, sentinels: int = 3) -> None:
        self.master = Server("--repl-diskless-sync-delay", "0")
        self.replica = Server("--replicaof", "127.0.0.1", str(self.master.port))
        eventually(lambda: self.replica.client.info("replication")["master_link_status"] == "up")
        self.sentinels: list[Sentinel] = [Sentinel(self.master.port) for _ in range(sentinels)]
        eventually(lambda: all(each.is_set(sentinels) for each in self.sentinels), "the sentinels know each other")

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{each.port}' for each in self.sentinels)}/{NAME}"

    def until_moved(self) -> None:
        """Returns when some sentinel tells of the new master."""
        new = self.replica.port
        eventually(lambda: any((each.state() or {}).get("port") == new for each in self.sentinels), "the failover")

    def close(self) -> None:
        for each in [*self.sentinels, self.master, self.replica]:
            each.close()
