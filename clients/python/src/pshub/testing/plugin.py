"""A fixture of pytest. Name it in conftest.py: ``pytest_plugins = ["pshub.testing.plugin"]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from .in_memory import InMemory


@pytest.fixture
def in_memory() -> Iterator[Callable[..., InMemory]]:
    """Makes kits for one test: ``kit = in_memory(send_mail, resize)``. Options are those of ``InMemory``; they are closed when it is over."""
    with ExitStack() as kits:
        yield lambda *tasks, **options: kits.enter_context(InMemory(*tasks, **options))
