import re

from django.http import HttpRequest, JsonResponse

from pshub import HubError

from .hub import answer_of, hub


async def shipping(request: HttpRequest, country: str) -> JsonResponse:
    grams = request.GET.get("grams")
    # What is no number goes as it came, for the schema of the task to refuse.
    is_number = grams is not None and re.fullmatch("[0-9]{1,9}", grams)
    args = {"country": country, "grams": int(grams) if is_number else grams}
    try:
        # Django cancels the view of a visitor who leaves, which gives the call up.
        return JsonResponse(await hub.call("shipping_cost:1.0", args, timeout=2.0))
    except HubError as error:
        return answer_of(error)
