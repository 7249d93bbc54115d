"""The caller's side."""
