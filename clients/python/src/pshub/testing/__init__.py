"""
Tests without Redis: the hub and the worker of production on a Redis in this process, with a clock that the test controls. ``InMemory``
provides everything; ``pshub.testing.plugin`` offers it as a pytest fixture.
"""

from .clock import TestClock
from .enqueued import EnqueuedJob
from .in_memory import InMemory
from .memory.replies import RedisError
from .redis import TestRedis
from .worker import TestWorker

__all__ = ["EnqueuedJob", "InMemory", "RedisError", "TestClock", "TestRedis", "TestWorker"]
