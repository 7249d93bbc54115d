"""What the flags of pshub-worker-py are told that it cannot take."""

from __future__ import annotations

import pytest

from conftest import HERE, run_command
from pshub import ConfigError
from pshub.settings.read import read_settings

TASKS = str(HERE / "tasks.py")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "Name a module that declares tasks, as in: pshub-worker-py images.py"),
        (["--slits", "1"], "There is no option --slits. Did you mean --slots?"),
        ([TASKS, "--slot=1"], "There is no option --slot. Did you mean --job-slots or --slots?"),
        ([TASKS, "--slots", "none"], "--slots must be a whole number from 1 to 256; it is 'none'."),
        ([TASKS, "--queue"], "--queue needs a value."),
        ([TASKS, "--queue", "a", "--queue=b"], "--queue was given twice. A worker in Python serves one queue; start one for each."),
        ([TASKS, "--queue", "a,b"], "--queue must be the name of one queue, 1 to 64 letters, digits, and _ . -; it is 'a,b'."),
    ],
)
def test_one_line_says_what_is_wrong(arguments: list[str], said: str) -> None:
    assert run_command(*arguments) == (2, "", f"pshub-worker-py: {said}\n")


def test_times() -> None:
    for flag in ("--grace", "--lease"):
        wrong = run_command(TASKS, flag, "ten")
        said = f"{flag} must be a duration like 500ms, 2s, 1m, 1h or 1d (a bare number is seconds), not 'ten'.\n"
        assert wrong == (2, "", f"pshub-worker-py: {said}")
        assert f"{flag} time" in run_command("--help")[1]
    for lease in ("1", "1s", "1000ms"):
        assert "--lease must be a number of seconds from 2 to 600; it is 1.0." in run_command(TASKS, "--lease", lease)[2]
    assert "--grace must be a number of seconds from 0 to 3600; it is 7200.0." in run_command(TASKS, "--grace", "2h")[2]


@pytest.mark.parametrize("text", ["0x4", "4.0", "+4", "1_0", "\u0664"])
@pytest.mark.parametrize("name", ["PSHUB_SLOTS", "PSHUB_GRACE_MS"])
def test_numbers_in_the_environment_are_decimal_digits(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError, match=f"^{name} must be a"):
        read_settings("worker", {})
