"""Reads schemas and values, a line of JSON each, and says what this client makes of them: why it rejects the schema, or which values fit."""

import json
import sys

from pshub.task.schema import UnusableSchema, compile_foreign, compile_own
from pshub.wire.errors import ConfigError


def judged(schema, values):
    text = json.dumps(schema)
    try:
        own = compile_own(schema, "it")
    except ConfigError as rejected:
        try:
            compile_foreign(text)
        except UnusableSchema:
            return {"rejected": str(rejected)}
        return {"rejected": "only as its own"}
    fits = [own(value) == [] for value in values]
    try:
        foreign = compile_foreign(text)
    except UnusableSchema:
        return {"fits": fits}
    return {"fits": fits, "foreign": [foreign(value) == [] for value in values]}


for line in sys.stdin:
    given = json.loads(line)
    try:
        told = judged(given["schema"], given["values"])
    except Exception as error:
        told = {"rejected": f"crashed: {error!r}"}
    print(json.dumps(told), flush=True)
