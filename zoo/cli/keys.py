"""The options of verbs that sign or check signatures, as keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zoo.errors import NotAZooError, UsageError

if TYPE_CHECKING:
    from zoo.cli.app import App
    from zoo.trust.keyless import Keyless, Signatory
    from zoo.trust.keys import SigningKey


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


def keyless_to_sign(variable: str | None) -> Keyless:
    """The identity of ``--sign-keyless``, or that of the token in the environment ``variable``.

    Raises:
        ZooError: there is none, or Sigstore does not answer.
    """
    from zoo.trust.keyless import Keyless, refuse_unusable

    if variable == "":
        raise UsageError("--identity-token-env is empty", hint="name the variable that holds the token")
    found = Keyless(variable or "")
    refuse_unusable(found)
    return found


def keys_to_trust(
    app: App, key: str | None, signer: str | None, identity: str | None, provider: str | None
) -> tuple[Signatory, ...]:
    """Whose signature counts: that of ``--key`` or ``--identity`` or, else, those of the zoo's signers, or
    the one called ``signer``. None at all for a stranger who names nobody.

    Raises:
        ZooError: a key cannot be used, or there is no such signer.
    """
    from zoo.trust.keyless import Identity
    from zoo.trust.keys import trusted
    from zoo.trust.policy import signers_of

    if [key, signer, identity].count(None) < 2:
        raise UsageError("--key, --signer and --identity name one thing twice", hint="keep one of them")
    if (identity is None) != (provider is None) or "" in (identity, provider):
        raise UsageError(
            "--identity counts only as its provider states it",
            hint="zoo verify SOURCE --signature --identity ID --identity-provider URL",
        )
    if identity is not None and provider is not None:
        return (Identity(identity, identity, provider),)
    if key is not None:
        return (trusted(Path(key).name, Path(key)),)
    try:
        return signers_of(app.zoo, signer or "")
    except NotAZooError:
        if signer is not None:
            raise
        return ()
