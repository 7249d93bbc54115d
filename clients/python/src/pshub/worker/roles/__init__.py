"""What a worker does, one role per file; none of them knows another."""
