"""What workers publish of themselves and what others read of it."""
