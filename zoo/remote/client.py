"""The HTTP client that huggingface_hub brings along: httpx before its version 2, httpx2 since. Imported only
by what is about to open a connection."""

from __future__ import annotations

import ssl
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2 as httpx
else:
    from huggingface_hub.utils import httpx

__all__ = ["httpx", "new_client"]


def new_client() -> httpx.Client:
    """A client that follows no redirect by itself."""
    return httpx.Client(follow_redirects=False, verify=_certificates())


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates of the machine. Reading them takes longer than a request, so it is done once."""
    return httpx.create_ssl_context()
