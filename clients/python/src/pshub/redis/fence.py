"""No command of a connection runs any more once its successor is ready."""

from __future__ import annotations

import re

Command = tuple[str, ...]


class Fence:
    """
    Fences the predecessor of a connection. Bytes of a connection that was given up may still be on their way, and Redis would obey them when
    they arrive: a second hand-back lets a call run twice, a second settle ends the next run of a job. So a new connection has the server
    close the previous one, and nothing else is sent before that is confirmed. One fence belongs to one server and one role, and outlives
    its connections. Without the right to use CLIENT KILL or CLIENT INFO there is none.
    """

    def __init__(self) -> None:
        self._predecessor: Command | None = None

    @property
    def commands(self) -> list[Command]:
        """To be sent first on a new connection; what Redis answers to the last one is for ``follow``."""
        ended = [self._predecessor] if self._predecessor else []
        return [*ended, ("CLIENT", "INFO")]

    def follow(self, info: object) -> None:
        """This connection is ready, and is the next one's predecessor."""
        found = re.match(rb"id=(\d+) addr=(\S+) ", info) if isinstance(info, bytes) else None
        # Ids begin anew when a server restarts, and so the address is compared too.
        self._predecessor = ("CLIENT", "KILL", "ID", found[1].decode(), "ADDR", found[2].decode()) if found else None
