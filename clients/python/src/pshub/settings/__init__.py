"""Every setting there is, and how it is read."""
