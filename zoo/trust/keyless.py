"""Signatures without a key: Sigstore issues a certificate for minutes to whoever proves an identity of OIDC
(a mail address, or the workflow of a CI), and a public log keeps what was signed.

Written after ``model_signing`` 1.1.1 and never run against the service (docs/trust.md, Not run). Every error
of its libraries becomes one here: of the form or the identity of a signature a ValueError, else a ZooError.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted
from zoo.trust.keys import Trusted
from zoo.trust.library import library

_INSTEAD = "check the connection and the identity, or sign with a key: --sign-key FILE"


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody whose signatures count: exactly this ``identity``, as exactly this ``provider`` states it."""

    name: str
    identity: str
    provider: str


Signatory = Trusted | Identity


@dataclass(frozen=True, slots=True)
class Keyless:
    """Signing as the identity of this process: that of the token in the environment ``variable`` or, without
    one, that of the CI job or, on a terminal, whoever logs in with the browser. A token is read where it is
    used, and never kept, shown or logged."""

    variable: str = ""


def refuse_unusable(how: Keyless) -> None:
    """Make sure that there is an identity and that Sigstore answers, before anything else takes its time.
    Nothing is signed: a signature would stay in the public log.

    Raises:
        UsageError: there is no identity to sign as.
        MissingLibraryError: the extra ``sign`` is not installed.
        UnreadableError: Sigstore cannot be reached, or refuses.
    """
    with library():
        from sigstore.oidc import detect_credential

    with _service():
        if not _token(how) and not detect_credential() and not _is_terminal():
            raise UsageError(
                "Sigstore needs an identity, and this is neither a CI job with one nor a terminal",
                hint="let the job have one (GitHub: id-token: write), or name it: --identity-token-env VAR",
            )
        _signer(how)


def envelope(payload: Any, how: Keyless) -> bytes:
    """``payload`` of ``model_signing``, signed; other bytes each time. It enters the public log, for good.

    Raises as :func:`refuse_unusable` does.
    """
    with _service():
        text: str = _signer(how).sign(payload).bundle.to_json()
    return json.dumps(json.loads(text), indent=2, sort_keys=True).encode() + b"\n"


def verified(document: Mapping[str, Any], who: Identity) -> Any:
    """The manifest of ``model_signing`` that the bundle ``document`` signs.

    Raises:
        ValueError: it is not signed by ``who``.
        UnreadableError: the certificates of Sigstore cannot be had, so that nothing can be said.
    """
    from model_signing._signing import sign_sigstore
    from sigstore.errors import Error
    from sigstore.models import Bundle

    try:
        signature = sign_sigstore.Signature(Bundle.from_json(json.dumps(document)))
    except Error as error:
        raise ValueError(str(error)) from None
    with _service():
        verifier = sign_sigstore.Verifier(identity=who.identity, oidc_issuer=who.provider)
    try:
        return verifier.verify(signature)
    except Error as error:
        raise ValueError(str(error)) from None


def _signer(how: Keyless) -> Any:
    from model_signing._signing import sign_sigstore

    return sign_sigstore.Signer(identity_token=_token(how) or None)


def _token(how: Keyless) -> str:
    token = os.environ.get(how.variable, "") if how.variable else ""
    if how.variable and not token:
        raise UsageError(
            f"the environment variable {quoted(how.variable)} holds no token for Sigstore",
            hint="set it to an OIDC token for the audience sigstore, or leave out --identity-token-env",
        )
    return token


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


@contextmanager
def _service() -> Iterator[None]:
    """One refusal for whatever goes wrong with the service; the libraries share no base for that."""
    from sigstore._internal.fulcio.client import ExpiredCertificate, FulcioClientError
    from sigstore._internal.rekor import RekorClientError
    from sigstore.errors import Error
    from sigstore.oidc import ExpiredIdentity, IssuerError

    of_service = (ExpiredCertificate, FulcioClientError, RekorClientError, ExpiredIdentity, IssuerError)
    try:
        yield
    except (Error, *of_service, OSError, ValueError) as error:  # OSError: every error of requests is one
        reason = printable(str(error), keep="", limit=200).rstrip(". ")
        raise UnreadableError(
            f"Sigstore cannot be used ({reason or type(error).__name__})", hint=_INSTEAD
        ) from None
