"""What is said between callers, workers and Redis, and how time is told."""
