"""Served by: uvicorn shop.asgi:application"""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
serve = get_asgi_application()

from .hub import hub  # noqa: E402  (settings come first)


async def application(scope, receive, send):
    """Django itself. Closes the hub after the last request."""
    if scope["type"] != "lifespan":
        return await serve(scope, receive, send)
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await hub.close()
    await send({"type": "lifespan.shutdown.complete"})
