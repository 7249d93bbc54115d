import re

from django.http import HttpRequest, HttpResponse, JsonResponse

from pshub import HubError, timeout_of

from .hub import answer_of, hub


async def shipping(request: HttpRequest, country: str) -> HttpResponse:
    grams = request.GET.get("grams")
    # What is no number goes as it came, for the schema of the task to refuse.
    is_number = grams is not None and re.fullmatch("[0-9]{1,9}", grams)
    args = {"country": country, "grams": int(grams) if is_number else grams}
    try:
        # Who says how long they wait is answered by then.
        timeout = timeout_of(request.headers.get("pshub-timeout-ms"), 2.0)
        # Django cancels the view of a visitor who leaves, which gives the call up.
        return JsonResponse(await hub.call("shipping_cost:1.0", args, timeout=timeout))
    except HubError as error:
        return answer_of(error)
