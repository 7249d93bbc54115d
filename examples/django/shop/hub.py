import json
import logging

from django.http import HttpResponse

from pshub import AsyncHub, HubError, problem_of

#: One hub per process: all requests share it. asgi.py closes it.
hub = AsyncHub(name="django")


def answer_of(error: HubError) -> HttpResponse:
    """Turns the error of a call into a response."""
    problem = problem_of(error)
    if problem.status >= 500:
        logging.error("%s: %s", error.code, error)
    return HttpResponse(json.dumps(problem.body), status=problem.status, headers=problem.headers)
