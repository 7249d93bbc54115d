"""Declaring tasks: their names, hints and schemas."""
