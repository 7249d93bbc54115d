"""Answers of a Cluster's node that name another one."""

from __future__ import annotations

from typing import Any, NamedTuple

from .client import Command, Word
from .refusals import ReplyError, code_of
from .target import Address

_KEYLESS = ("TIME", "INFO", "CLIENT", "FUNCTION", "SCAN", "PING", "CLUSTER", "CONFIG", "WAIT")


class Redirect(NamedTuple):
    """The command was not run, and is to be sent to this node."""

    #: For this command only, behind ASKING; else the slot is there from now on.
    is_once: bool
    slot: int
    address: Address


def redirect_of(answer: Any, asked: Address) -> Redirect | None:
    """``MOVED <slot> <host>:<port>`` or ``ASK ...``; without a host it is the one that was asked."""
    if not isinstance(answer, ReplyError) or code_of(answer) not in ("MOVED", "ASK"):
        return None
    words = str(answer).split()
    host, _, port = words[2].rpartition(":") if len(words) > 2 else ("", "", "")
    if not port.isdigit():
        return None
    return Redirect(words[0] == "ASK", int(words[1]), (host.strip("[]?") or asked[0], int(port)))


def is_down(answer: Any) -> bool:
    """The node sees that the Cluster cannot serve it at the moment."""
    return isinstance(answer, ReplyError) and code_of(answer) == "CLUSTERDOWN"


def key_of(command: Command) -> Word | None:
    """The key that says where a command is to be run; None for one without."""
    if command[0] == "FCALL":
        return command[3] if command[2] and int(command[2]) > 0 else None
    return None if command[0] in _KEYLESS else command[1]


def with_absent(command: Command) -> Command:
    """
    A function of a queue with a key of that queue behind its own that nobody ever makes. While a slot moves to another node, Redis answers
    TRYAGAIN or ASK when a key that is named is not there, instead of running a function with some of a queue's keys: those that it does
    not name are looked for only while it runs.
    """
    key = key_of(command) if command[0] == "FCALL" else None
    queue, end, _ = str(key).partition("}:") if key is not None else ("", "", "")
    if not end:
        return command
    count = int(command[2])
    return [*command[:2], count + 1, *command[3 : 3 + count], f"{queue}}}:moving", *command[3 + count :]]


def _held_back(command: Command, answer: Any) -> Any:
    """A function is not sent after those of its keys that are at the next node already: it is run when all are."""
    if command[0] == "FCALL" and isinstance(answer, ReplyError) and code_of(answer) == "ASK":
        return ReplyError("TRYAGAIN The slot is moving to another node")
    return answer


class Rerouted:
    """The answers of one post, some of which are to come from other nodes."""

    def __init__(self, commands: tuple[Command, ...], answers: list[Any]) -> None:
        self.commands = commands
        self.answers = list(map(_held_back, commands, answers))
        #: Nothing of it was run, as far as it was answered.
        self.is_unrun = True

    def next_of(self, asked: Address) -> tuple[Redirect | None, list[int]]:
        """Where to go next, and what with: in their order, as far as it is the same for those behind the first one."""
        first: Redirect | None = None
        places: list[int] = []
        for place, answer in enumerate(self.answers):
            found = redirect_of(answer, asked)
            if found is None:
                self.is_unrun = self.is_unrun and isinstance(answer, ReplyError)
                continue
            if first is not None and found != first:
                break
            first = found
            places.append(place)
        return first, places

    def sent(self, redirect: Redirect, places: list[int]) -> list[Command]:
        commands: list[Command] = []
        for place in places:
            if redirect.is_once:
                commands.append(("ASKING",))
            commands.append(self.commands[place])
        return commands

    def put(self, redirect: Redirect, places: list[int], answers: list[Any]) -> None:
        for place, answer in zip(places, answers[1::2] if redirect.is_once else answers):
            self.answers[place] = _held_back(self.commands[place], answer)
