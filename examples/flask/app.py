"""A web server whose view awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'"""

import re

from flask import Flask, request

from pshub import Hub, HubError, problem_of, timeout_of

app = Flask(__name__)
#: One hub per process: all threads share it. A forked child opens its own connections.
hub = Hub(name="flask")


@app.get("/shipping/<country>")
def shipping(country: str):
    grams = request.args.get("grams")
    # Anything but a number is passed on, for the task's schema to reject.
    is_number = grams is not None and re.fullmatch("[0-9]{1,9}", grams)
    args = {"country": country, "grams": int(grams) if is_number else grams}
    # The header can shorten the time-out, never extend it.
    timeout = timeout_of(request.headers.get("pshub-timeout-ms"), 2.0)
    return hub.call("shipping_cost:1.0", args, timeout=timeout)


@app.errorhandler(HubError)
def answer_of(error: HubError):
    """Turns the error of a call into a response."""
    problem = problem_of(error)
    if problem.status >= 500:
        app.logger.error("%s: %s", error.code, error)
    return problem.body, problem.status, problem.headers
