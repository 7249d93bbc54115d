"""
Tests without Redis: tasks run in the caller, with the checks that a worker makes.

``InlineHub`` is given to the code under test in the place of a ``Hub``; ``pshub.testing.plugin`` has it as a fixture of pytest.
"""

from .inline_hub import InlineHub
from .inline_job import EnqueuedJob, InlineJob

__all__ = ["EnqueuedJob", "InlineHub", "InlineJob"]
