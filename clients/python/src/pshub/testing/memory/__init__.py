"""A Redis in this process."""
