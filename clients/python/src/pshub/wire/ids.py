"""Ids of requests, hubs and workers."""

from __future__ import annotations

import base64
import os


def new_id() -> str:
    """128 random bits: ids must not be guessable, and a forked process must not repeat its parent's."""
    return base64.urlsafe_b64encode(os.urandom(16))[:22].decode()
