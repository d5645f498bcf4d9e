"""The options of verbs that sign or check signatures, as keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zoo.errors import NotAZooError, UsageError

if TYPE_CHECKING:
    from zoo.cli.app import App
    from zoo.trust.keys import SigningKey, Trusted


def key_to_sign(key: str, certificate: str | None) -> SigningKey:
    """The key of ``--sign-key`` or ``--key``, tried before anything else takes its time.

    Raises:
        ZooError: it cannot be used, or nothing here can sign.
    """
    from zoo.trust.keys import signing_key
    from zoo.trust.signing import refuse_unusable

    found = signing_key(Path(key), None if certificate is None else Path(certificate))
    refuse_unusable(found)
    return found


def keys_to_trust(app: App, key: str | None, signer: str | None) -> tuple[Trusted, ...]:
    """Whose signature counts: that of ``--key`` or, else, those of the zoo's signers, or the one called
    ``signer``. None at all for a stranger who names nobody.

    Raises:
        ZooError: a key cannot be used, or there is no such signer.
    """
    from zoo.trust.keys import trusted
    from zoo.trust.policy import signers_of

    if key is not None and signer is not None:
        raise UsageError("--key and --signer name one thing twice", hint="leave one of them out")
    if key is not None:
        return (trusted(Path(key).name, Path(key)),)
    try:
        return signers_of(app.zoo, signer or "")
    except NotAZooError:
        if signer is not None:
            raise
        return ()
