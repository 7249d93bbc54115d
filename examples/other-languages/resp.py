"""The smallest Redis client there is: one function, for programs that have no Redis library. Standard library only."""
import os
import socket
from urllib.parse import urlsplit


def connect(url=os.environ.get('PSHUB_REDIS', 'redis://127.0.0.1:6379')):
    """Returns a function that sends one command and returns its answer: str, int, list, or None for nothing."""
    address = urlsplit(url)
    wire = socket.create_connection((address.hostname, address.port or 6379)).makefile('rwb')

    def answer():
        line = wire.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b'$':
            return None if rest == b'-1' else wire.read(int(rest) + 2)[:-2].decode()
        if kind == b'*':
            return None if rest == b'-1' else [answer() for _ in range(int(rest))]
        if kind == b':':
            return int(rest)
        if kind == b'+':
            return rest.decode()
        raise ConnectionError(rest.decode() or 'Redis closed the connection')

    def send(*words):
        data = [str(word).encode() for word in words]
        wire.write(b'*%d\r\n' % len(data) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in data))
        wire.flush()
        return answer()

    return send
