"""The worker's side."""
