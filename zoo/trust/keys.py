"""Keys: files in PEM that the user or the settings of a zoo name. A private key is read where it is used, and
nothing of it is kept, shown or logged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zoo.errors import UnreadableError, UsageError
from zoo.printable import quoted
from zoo.release.paths import read_small

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_PUBLIC = b"-----BEGIN PUBLIC KEY-----"
_PRIVATE = (b"-----BEGIN PRIVATE KEY-----", b"-----BEGIN EC PRIVATE KEY-----")
_OTHER_KINDS = (b"-----BEGIN RSA PRIVATE KEY-----", b"-----BEGIN DSA PRIVATE KEY-----")
_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"


@dataclass(frozen=True, slots=True)
class Trusted:
    """Somebody whose signatures count. ``path`` holds a public key or, with ``is_authority``, certificates:
    then every signing certificate that these have issued counts."""

    name: str
    path: Path
    is_authority: bool = False


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, by the path of its file and, with ``chain``, the file of its certificates: first the one
    of this key, then those that issued it."""

    path: Path
    chain: Path | None = None


def trusted(name: str, path: Path) -> Trusted:
    """The public key, or the certificates, in ``path``.

    Raises:
        UnreadableError: the file cannot be read.
        UsageError: it holds something else.
    """
    raw = _read(path, "a key")
    if _CERTIFICATE in raw:
        return Trusted(name, path, is_authority=True)
    if any(mark in raw for mark in (*_PRIVATE, _ENCRYPTED)):
        raise UsageError(
            f"{quoted(str(path))} is a private key, and checking needs the public one",
            hint=f"write the public key to a file: openssl ec -in {path.name} -pubout -out {path.stem}.pub",
        )
    if _PUBLIC not in raw:
        raise UsageError(
            f"{quoted(str(path))} holds neither a public key nor a certificate in PEM",
            hint="name the file that begins with -----BEGIN PUBLIC KEY-----",
        )
    return Trusted(name, path)


def signing_key(path: Path, chain: Path | None = None) -> SigningKey:
    """The private key in ``path``, with the certificates in ``chain``.

    Raises:
        UnreadableError: a file cannot be read.
        UsageError: it holds something else.
    """
    raw = _read(path, "a key")
    if _ENCRYPTED in raw or b"Proc-Type: 4,ENCRYPTED" in raw:
        raise UsageError(
            f"{quoted(str(path))} is encrypted, and this version asks for no passphrase",
            hint="decrypt it to a file that only you can read, outside of the zoo, and remove that again",
        )
    if any(mark in raw for mark in _OTHER_KINDS):
        raise UsageError(
            f"{quoted(str(path))} cannot be used to sign: only EC keys on P-256, P-384 or P-521 can",
            hint="make one that can: openssl ecparam -name prime256v1 -genkey -noout -out release.pem",
        )
    if not any(mark in raw for mark in _PRIVATE):
        raise UsageError(
            f"{quoted(str(path))} holds no private key in PEM",
            hint="make one: openssl ecparam -name prime256v1 -genkey -noout -out release.pem",
        )
    if chain is not None and _CERTIFICATE not in _read(chain, "the certificates"):
        raise UsageError(
            f"{quoted(str(chain))} holds no certificate in PEM",
            hint="name a file with the certificate of the key first, then those that issued it",
        )
    return SigningKey(path, chain)


def _read(path: Path, what: str) -> bytes:
    try:
        return read_small(path)
    except OSError as error:
        raise UnreadableError(
            f"{what} cannot be read from {quoted(str(path))} ({error.strerror})", hint="check the path"
        ) from None
