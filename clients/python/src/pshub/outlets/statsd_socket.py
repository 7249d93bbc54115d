"""A UDP socket to a host that is named; its address is looked up on a thread of its own, since that may take long."""

from __future__ import annotations

import socket
import threading
from collections import deque
from typing import Deque, Optional, Tuple

from ..wire.clock import now_s

#: After so long the name may mean another machine.
_LIFE_S = 60.0
#: A name that could not be looked up is looked up again after this.
_RETRY_S = 5.0
#: So many packets wait for the first look-up; of more the oldest are dropped.
_MOST_WAITING = 50


class StatsdSocket:
    """What cannot be sent is dropped. From any thread."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._reset()

    def open(self) -> None:
        """Has the address looked up, where that was not done yet, or a while ago."""
        with self._lock:
            self._renew()

    def send(self, packet: bytes) -> None:
        with self._lock:
            self._waiting.append(packet)
            self._renew()
            self._send_waiting()

    def finish(self, patience_s: float) -> None:
        """Waits for a look-up that packets wait for."""
        with self._lock:
            looking = self._looking if self._waiting else None
        if looking is not None:
            looking.join(patience_s)

    def forked(self) -> None:
        """In the child of a fork: the thread is the parent's, and so is what waits."""
        if self._socket is not None:
            self._socket.close()
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._waiting: Deque[bytes] = deque(maxlen=_MOST_WAITING)
        self._looking: Optional[threading.Thread] = None
        self._look_at = 0.0

    def _renew(self) -> None:
        if self._looking is None and now_s() >= self._look_at:
            self._looking = threading.Thread(target=self._look_up, name="pshub-statsd", daemon=True)
            self._looking.start()

    def _look_up(self) -> None:
        made = _connected(self._address)
        with self._lock:
            self._looking = None
            self._look_at = now_s() + (_RETRY_S if made is None else _LIFE_S)
            if made is not None:
                before, self._socket = self._socket, made
                if before is not None:
                    before.close()
            if self._socket is None:
                # Figures of the past: they are not kept for long.
                self._waiting.clear()
            self._send_waiting()

    def _send_waiting(self) -> None:
        while self._socket is not None and self._waiting:
            try:
                self._socket.send(self._waiting.popleft())
            except OSError:
                # The daemon is away, or the socket is full.
                pass


def _connected(address: Tuple[str, int]) -> Optional[socket.socket]:
    """Connected, although UDP needs no connection: so the name is not looked up for each packet."""
    made = None
    try:
        family, kind, _, _, found = socket.getaddrinfo(*address, 0, socket.SOCK_DGRAM)[0]
        made = socket.socket(family, kind)
        made.setblocking(False)
        made.connect(found)
        return made
    except (OSError, UnicodeError):
        if made is not None:
            made.close()
        return None
