"""One HTTP client for huggingface_hub, set up for releases.

Left alone, huggingface_hub waits for an answer for ever, repeats some requests on its own, sleeps for as long
as a server says, and logs addresses with their signatures. Here a request goes out once and has a time
limit, what may go better in a moment is one exception (:class:`HubTroubleError`), and the token goes to the
endpoints that were named, and to no other server.
"""

from __future__ import annotations

import os
import sys
import time
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
# Bytes of an answer of the API; a listing of 10,000 files takes 4 MB.
_ANSWER_LIMIT = 64 * 1024 * 1024
_BATCH, _FULL = "/info/lfs/objects/batch", 507
# The hubs that this process works with: the client is one for the whole process.
_ENDPOINTS: set[str] = set()


class HubTroubleError(TargetUnusableError):
    """No answer, or one that says nothing for good (408, 429, 5xx). What was asked for may have been done.
    ``after``: seconds that the server asks to wait."""

    def __init__(self, message: str, *, after: float = 0.0) -> None:
        super().__init__(message, hint="run the same command again: it goes on from there")
        self.after = after


class LfsRefusedError(Exception):
    """The hub does not take a large file: ``status`` and words of the error that its answer has for the file
    (git-lfs, docs/api/batch.md). The client raises the ValueError of an answer that it cannot read."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status
        self.said = said


def set_up(endpoint: str, patience: float) -> None:
    """Set up huggingface_hub, whose settings are those of the whole process, for the hub at ``endpoint``.
    ``patience``: seconds in which an answer must begin."""
    if endpoint != HUB:
        # Xet is the Hub's alone. The client would ask for it anywhere, and fail; it reads this at each call.
        constants.HF_HUB_DISABLE_XET = True
        # With telemetry the client asks huggingface.co, whatever the endpoint, for a list to name itself by.
        constants.HF_HUB_DISABLE_TELEMETRY = True
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
        self._patience = patience
        super().__init__(
            follow_redirects=True,
            timeout=httpx.Timeout(patience, connect=min(patience, _CONNECT)),
            event_hooks={"request": [self._keep_token]},
        )

    def _keep_token(self, request: httpx.Request) -> None:
        if origin(request.url) not in self._origins:
            request.headers.pop("authorization", None)

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """One request and its answer, which ``stream`` leaves for the caller to receive.

        Raises HubTroubleError; TargetUnusableError: there is no end of the answer; LfsRefusedError.
        """
        # Some methods of huggingface_hub pass timeout=None, which would be for ever.
        request.extensions["timeout"] = self.timeout.as_dict()
        try:
            response = super().send(request, stream=True, **options)
        except httpx.RequestError as error:
            raise no_answer(request.method, request.url, error) from None
        status = response.status_code
        if status not in _TRANSIENT and status < 500:
            return response if stream else self._whole(response)
        headers = {name.lower(): value for name, value in response.headers.items()}
        response.close()
        after = stated_wait(headers)
        asks = f" and asks to wait {after:.0f} s" if after else ""
        said = "limits the rate of requests (429)" if status == 429 else f"answered {status}"
        raise HubTroubleError(f"{_place(request.method, request.url)}: the hub {said}{asks}", after=after)

    def _whole(self, response: httpx.Response) -> httpx.Response:
        """The answer with its body, which has limits of time and size."""
        content = receive(response, _ANSWER_LIMIT, self._patience)
        headers = [each for each in response.headers.multi_items() if each[0].lower() != "content-encoding"]
        answer = httpx.Response(
            response.status_code,
            headers=headers,
            content=content,
            request=response.request,
            history=response.history,
            extensions=response.extensions,
        )
        if answer.url.path.endswith(_BATCH) and answer.status_code == 200:
            _refuse_lfs_errors(answer)
        return answer


def receive(response: httpx.Response, limit: int, patience: float) -> bytes:
    """The body of ``response``: at most ``limit`` bytes, unpacked, within ``patience`` seconds. A time limit
    for each read, which the client has, does not end a body that comes byte by byte.

    Raises HubTroubleError; TargetUnusableError: it is larger.
    """
    request, end, content = response.request, time.monotonic() + patience, bytearray()
    try:
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > limit:
                raise TargetUnusableError(
                    f"{_place(request.method, request.url)}: the answer of {request.url.host} has more than "
                    f"{limit:,} bytes",
                    hint="check --to: it must be the address of a hub",
                )
            if time.monotonic() > end:
                raise HubTroubleError(
                    f"{_place(request.method, request.url)}: the answer of {request.url.host} did not end "
                    f"within {patience:g} s"
                )
    except httpx.RequestError as error:
        raise no_answer(request.method, request.url, error) from None
    finally:
        response.close()
    return bytes(content)


def _refuse_lfs_errors(answer: httpx.Response) -> None:
    """Raises HubTroubleError or LfsRefusedError: the answer to a batch has an error for one of its files."""
    try:
        errors = [each["error"] for each in answer.json()["objects"] if "error" in each]
        found = [(int(each["code"]), str(each.get("message", ""))) for each in errors]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # that it is no answer of a hub, the client says
    for status, said in found:
        if status in _TRANSIENT or (status >= 500 and status != _FULL):
            place = _place(answer.request.method, answer.url)
            raise HubTroubleError(f"{place}: the hub cannot take a file now ({status})")
        raise LfsRefusedError(status, said)


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
