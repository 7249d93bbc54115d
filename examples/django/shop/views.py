import re

from django.http import HttpRequest, HttpResponse, JsonResponse

from pshub import HubError, timeout_of

from .hub import answer_of, hub


async def shipping(request: HttpRequest, country: str) -> HttpResponse:
    grams = request.GET.get("grams")
    # Anything but a number is passed on, for the task's schema to reject.
    is_number = grams is not None and re.fullmatch("[0-9]{1,9}", grams)
    args = {"country": country, "grams": int(grams) if is_number else grams}
    try:
        # The header can shorten the time-out, never extend it.
        timeout = timeout_of(request.headers.get("pshub-timeout-ms"), 2.0)
        # Django cancels the view when the visitor leaves, and with it the call.
        return JsonResponse(await hub.call("shipping_cost:1.0", args, timeout=timeout))
    except HubError as error:
        return answer_of(error)
