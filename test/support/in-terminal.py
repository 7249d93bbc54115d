"""Runs a program in a pseudo-terminal: in-terminal.py <columns> <rows> <program> [arguments].

What the program writes comes out as it is. Each line that is read is a JSON object: {"keys": "q"} is typed,
{"size": [columns, rows]} resizes the terminal, {"signal": 15} is sent. Ends with the program's exit code. The last line
written says whether the terminal was left as it was found: echo on and line by line.
"""
import fcntl, json, os, pty, select, signal, struct, subprocess, sys, termios


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


master, slave = pty.openpty()
resize(slave, int(sys.argv[1]), int(sys.argv[2]))
before = termios.tcgetattr(slave)


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


child = subprocess.Popen(sys.argv[3:], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
commands, typed = [0], b''
while True:
    ready, _, _ = select.select([master, *commands], [], [], 0.05)
    if master in ready:
        os.write(1, os.read(master, 65536))
    elif child.poll() is not None:
        break
    if 0 in ready:
        piece = os.read(0, 65536)
        if not piece:
            commands = []
        typed += piece
        *lines, typed = typed.split(b'\n')
        for line in lines:
            command = json.loads(line)
            if 'keys' in command:
                os.write(master, command['keys'].encode())
            if 'size' in command:
                resize(slave, *command['size'])
            if 'signal' in command:
                child.send_signal(command['signal'])
same = termios.tcgetattr(slave)[3] == before[3]
os.write(1, b'\n[terminal as it was]\n' if same else b'\n[terminal changed]\n')
sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)
