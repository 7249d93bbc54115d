"""A web server whose view awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'"""

import re

from flask import Flask, request

from pshub import Hub, HubError, problem_of, timeout_of

app = Flask(__name__)
#: One for the process: all threads share it, and a forked child gets connections of its own. It ends with the process.
hub = Hub(name="flask")


@app.get("/shipping/<country>")
def shipping(country: str):
    grams = request.args.get("grams")
    # What is no number goes as it came, for the schema of the task to refuse.
    is_number = grams is not None and re.fullmatch("[0-9]{1,9}", grams)
    args = {"country": country, "grams": int(grams) if is_number else grams}
    # Who says how long they wait is answered by then.
    timeout = timeout_of(request.headers.get("pshub-timeout-ms"), 2.0)
    return hub.call("shipping_cost:1.0", args, timeout=timeout)


@app.errorhandler(HubError)
def answer_of(error: HubError):
    """The response that fits the error of a call."""
    problem = problem_of(error)
    if problem.status >= 500:
        app.logger.error("%s: %s", error.code, error)
    return problem.body, problem.status, problem.headers
