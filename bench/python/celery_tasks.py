"""The same work for Celery: Redis as broker and result backend."""

import os

from celery import Celery

url = os.environ["BENCH_REDIS"]
app = Celery("celery_tasks", broker=f"{url}/1", backend=f"{url}/2")


@app.task(name="add")
def add(x, y=2):
    return x + y
