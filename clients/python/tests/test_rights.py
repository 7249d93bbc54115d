"""Users of Redis that may do too little, or just enough."""

from __future__ import annotations

import pytest

from called_tasks import add
from conftest import ROOT, Server
from pshub import ConfigError, Hub, NotEnqueued, Worker


def test_rights_that_lack_are_named(server: Server) -> None:
    server.client.execute_command(
        "ACL", "SETUSER", "poor", "on", ">secret", "resetkeys", "-@all", "~*", "+eval", "+evalsha", "+time", "+hkeys", "+hmget",
        "+zrangebyscore", "+info", "+ping",
    )  # fmt: skip
    url = f"redis://poor:secret@127.0.0.1:{server.port}"
    try:
        with pytest.raises(ConfigError, match="may not serve a queue: it lacks"):
            Worker(url, tasks=[add]).start()
        worker = Worker(server.url, tasks=[add]).start()
        with Hub(url) as hub, pytest.raises(NotEnqueued, match="it lacks .*RPUSH"):
            hub.call("add:1.0", x=1)
        with Hub(f"redis://poor:wrong@127.0.0.1:{server.port}") as hub, pytest.raises(NotEnqueued, match="user or password"):
            hub.call("add:1.0", x=1)
        worker.stop()
    finally:
        server.client.execute_command("ACL", "DELUSER", "poor")


def test_exactly_the_rights_of_the_protocol_are_enough(server: Server) -> None:
    text = (ROOT / "PROTOCOL.md").read_text(encoding="utf-8")
    rules = [line.split() for line in text.splitlines() if line.startswith("ACL SETUSER pshub-")]
    names = ("pshub-hub", "pshub-worker")
    for words in rules:
        if words[2] in names:
            server.client.execute_command(*words)
    worker = Worker(f"redis://pshub-worker:secret@127.0.0.1:{server.port}", tasks=[add]).start()
    try:
        with Hub(f"redis://pshub-hub:secret@127.0.0.1:{server.port}") as hub:
            assert hub.call("add:1.0", x=1) == 3
            assert hub.call("add", x=1) == 3
    finally:
        worker.stop()
        for name in names:
            server.client.execute_command("ACL", "DELUSER", name)
