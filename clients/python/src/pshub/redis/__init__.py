"""Everything that knows redis-py: connections, rights, and what refusals mean."""
