"""All routes of the hub, as one ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from zoo.hub.directory import Hub
from zoo.hub.http import EXCEPTIONS, Log, RawPath
from zoo.hub.routes import accounts, commits, discussions, files, large, refs, repos, revisions

GROUPS = (accounts, repos, commits, refs, discussions, revisions, large, files)


def make_app(hub: Hub, public_url: str) -> ASGIApp:
    """The application that serves ``hub``. ``public_url`` is the address that clients use, or empty: the one
    of each request."""
    app = Starlette(
        routes=[route for group in GROUPS for route in group.ROUTES],
        middleware=[Middleware(Log), Middleware(RawPath)],
        exception_handlers=dict(EXCEPTIONS),
    )
    app.router.redirect_slashes = False
    app.state.hub = hub
    app.state.public_url = public_url
    return app
