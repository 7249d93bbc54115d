"""What a job is beside a request: how it is enqueued, how it fares, and what becomes of it."""
