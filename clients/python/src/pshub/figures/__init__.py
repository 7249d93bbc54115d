"""What is counted and measured, and what happened."""
