"""One HTTP client for huggingface_hub, set up for releases.

Left alone, huggingface_hub waits for an answer for ever, repeats some requests on its own, sleeps for as long
as a server says, and logs addresses with their signatures. Here a request goes out once and has a time
limit, what may go better in a moment is one exception (:class:`HubTroubleError`), and the token goes to the
endpoints that were named, and to no other server.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from huggingface_hub import constants
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    disable_progress_bars,
    logging,
    set_client_factory,
)

from zoo.errors import TargetUnusableError
from zoo.printable import printable
from zoo.remote.address import HUB, origin
from zoo.remote.client import httpx
from zoo.remote.refusals import stated_wait

_CONNECT = 10.0
_TRANSIENT = (408, 429)
# The hubs that this process works with: the client is one for the whole process.
_ENDPOINTS: set[str] = set()


class HubTroubleError(TargetUnusableError):
    """No answer, or one that says nothing for good (408, 429, 5xx). What was asked for may have been done.
    ``after``: seconds that the server asks to wait."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        super().__init__(message, hint="run the same command again: it goes on from there")
        self.after = after


def set_up(endpoint: str, patience: float) -> None:
    """Set up huggingface_hub, whose settings are those of the whole process, for the hub at ``endpoint``.
    ``patience``: seconds in which an answer must begin."""
    if endpoint != HUB:
        # Xet is the Hub's alone. The client would ask for it anywhere, and fail; it reads this at each call.
        constants.HF_HUB_DISABLE_XET = True
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # its warnings show signed addresses
    if not sys.stderr.isatty():
        disable_progress_bars()
    _ENDPOINTS.add(endpoint)
    set_client_factory(lambda: _Session(patience))


class _Session(httpx.Client):
    """Asks once, waits for a limited time, and keeps the token to the endpoints that were named."""

    def __init__(self, patience: float) -> None:
        self._origins = {origin(httpx.URL(endpoint)) for endpoint in _ENDPOINTS}
        # Where a CI job gets its own identity from, with a token that is not the hub's.
        if provider := os.environ.get("ACTIONS_ID_TOKEN_REQUEST_URL"):
            self._origins.add(origin(httpx.URL(provider)))
        super().__init__(
            follow_redirects=True,
            timeout=httpx.Timeout(patience, connect=min(patience, _CONNECT)),
            event_hooks={"request": [self._keep_token]},
        )

    def _keep_token(self, request: httpx.Request) -> None:
        if origin(request.url) not in self._origins:
            request.headers.pop("authorization", None)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """One request and its answer. Raises HubTroubleError."""
        # Some methods of huggingface_hub pass timeout=None, which would be for ever.
        request.extensions["timeout"] = self.timeout.as_dict()
        try:
            response = super().send(request, **options)
        except httpx.RequestError as error:
            raise no_answer(request.method, request.url, error) from None
        status = response.status_code
        if status not in _TRANSIENT and status < 500:
            return response
        headers = {name.lower(): value for name, value in response.headers.items()}
        response.close()
        after = stated_wait(headers)
        asks = f" and asks to wait {after:.0f} s" if after else ""
        said = "limits the rate of requests (429)" if status == 429 else f"answered {status}"
        raise HubTroubleError(f"{_place(request.method, request.url)}: the hub {said}{asks}", after=after)


def no_answer(method: str, url: httpx.URL, error: httpx.RequestError) -> HubTroubleError:
    """The trouble that an exception of the HTTP client is."""
    # Not its text: of a request that could not be sent, it may quote the headers, and the token in them.
    if isinstance(error, httpx.ConnectError):
        how = "cannot be reached"
    elif isinstance(error, httpx.TimeoutException):
        how = "did not answer in time"
    else:
        how = f"broke the connection ({type(error).__name__})"
    return HubTroubleError(f"{_place(method, url)}: {url.host} {how}")


def _place(method: str, url: httpx.URL) -> str:
    """A request in words. Its query is left out: it may be a signature."""
    return f"{method} {printable(url.path, keep='', limit=120)}"
