import math

from django.http import JsonResponse

from pshub import AsyncHub, HubError

#: One for the process: all requests share it. asgi.py closes it.
hub = AsyncHub(name="django")


def answer_of(error: HubError) -> JsonResponse:
    """The response that fits the error of a call."""
    response = JsonResponse({"code": error.code, "message": error.message, "data": error.data}, status=error.http_status)
    if error.retryable:
        # Some errors say how long it takes until a further try may be worth it, in milliseconds.
        told = error.data if isinstance(error.data, dict) else {}
        wait_ms = told.get("retryAfterMs") or told.get("waitMs") or 0
        response["Retry-After"] = str(max(1, math.ceil(wait_ms / 1000)))
    return response
