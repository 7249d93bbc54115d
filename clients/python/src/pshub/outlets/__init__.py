"""Where events go: log lines and StatsD."""
