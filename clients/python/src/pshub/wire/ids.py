"""Ids of requests, hubs and workers."""

from __future__ import annotations

import base64
import os


def new_id() -> str:
    """128 random bits: ids must not be guessable, and a forked process must not repeat its parent's. None begins with a dash."""
    made = base64.urlsafe_b64encode(os.urandom(16))[:22].decode()
    # A command line takes one for an option.
    return f"A{made[1:]}" if made.startswith("-") else made
