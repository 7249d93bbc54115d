"""A blank task, so that what is measured is the way there and back."""

from pshub import task


@task("add:1.0")
def add(x: int, y: int = 2) -> int:
    return x + y
