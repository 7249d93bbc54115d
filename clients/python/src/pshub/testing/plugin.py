"""A fixture of pytest. Name it in conftest.py: ``pytest_plugins = ["pshub.testing.plugin"]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .inline_hub import InlineHub


@pytest.fixture
def inline_hub() -> Iterator[Callable[..., InlineHub]]:
    """Makes hubs that run these tasks in the test: ``hub = inline_hub(send_mail, resize)``. Options are those of ``InlineHub``."""
    hubs: list[InlineHub] = []

    def make(*tasks: object, **options: object) -> InlineHub:
        hubs.append(InlineHub(*tasks, **options))  # type: ignore[arg-type]
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()
