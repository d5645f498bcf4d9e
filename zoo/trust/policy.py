"""Whom a zoo trusts: ``signers`` in ``[tool.zoo.trust]``, each with a name and the file of a public key,
or an identity and its provider.

The settings and the keys lie in the zoo's git: who may change these files may change whom the zoo trusts.
"""

from __future__ import annotations

from pathlib import Path

from zoo.digests import sha256_file
from zoo.errors import SettingsError, UsageError, ZooError
from zoo.evidence import UNSIGNED
from zoo.printable import quoted
from zoo.release.paths import first_link, read_small
from zoo.trust import signing
from zoo.trust.keyless import Identity, Signatory
from zoo.trust.keys import trusted
from zoo.trust.library import MissingLibraryError
from zoo.workspace import Zoo

# The signature of NAME.json is NAME.json.sig, beside it.
SUFFIX = ".sig"


def signers_of(zoo: Zoo, name: str = "") -> tuple[Signatory, ...]:
    """The signers of ``zoo``, or the one called ``name``.

    Raises:
        SettingsError: a key cannot be used.
        UsageError: there is no signer of this name.
    """
    chosen = [each for each in zoo.signers if name in ("", each.name)]
    if name and not chosen:
        known = ", ".join(each.name for each in zoo.signers)
        raise UsageError(
            f"this zoo has no signer {quoted(name)}",
            hint=f"signers are: {known}" if known else "name the key: --key FILE",
        )
    found: list[Signatory] = []
    root = zoo.trust_root or zoo.root
    for each in chosen:
        if each.identity:
            found.append(Identity(each.name, each.identity, each.provider))
            continue
        path = root / each.key
        if not path.resolve().is_relative_to(root) or first_link(path, root) is not None:
            raise SettingsError(
                f"{zoo.shown(zoo.settings_file)}: the key of signer {quoted(each.name)} is outside of the "
                "zoo, or a link",
                hint="keep public keys in the zoo, e.g. keys/NAME.pub",
            )
        try:
            found.append(trusted(each.name, path))
        except ZooError as error:
            raise SettingsError(
                f"{zoo.shown(zoo.settings_file)}: signer {quoted(each.name)}: {error.message}",
                hint=error.hint,
            ) from error
    return tuple(found)


def signer_of(zoo: Zoo, path: Path) -> tuple[str, str]:
    """Which signer of ``zoo`` has signed the file at ``path`` and, if none has, why it does not count.

    Raises:
        MissingLibraryError: there is a signature, and nothing here can check it.
        ZooError: the key of a signer cannot be used.
    """
    signature = path.with_name(path.name + SUFFIX)
    if first_link(signature, zoo.root) is not None:
        return "", "its signature is a link, or lies behind one"
    try:
        raw = read_small(signature)
    except FileNotFoundError:
        return "", UNSIGNED
    except OSError as error:
        return "", f"its signature cannot be read ({error.strerror})"
    try:
        signed = signing.verify(raw, signers_of(zoo))
    except signing.InvalidSignatureError as error:
        return "", f"its signature does not count: {error}"
    if (signed.name, dict(signed.files)) != (path.name, {signing.ITSELF: sha256_file(path)}):
        return "", "its signature is one over another file"
    return signed.by, ""


def unseen(error: MissingLibraryError) -> str:
    """Why a signature was not looked at, with what to do about it."""
    return f"its signature was not checked: {error.message}; {error.hint}"
