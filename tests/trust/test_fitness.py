"""Which keys and certificates can sign: an authority issues others too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.x509 import ObjectIdentifier
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.trust.making import certificate, pem, write_key
from zoo.errors import UsageError
from zoo.trust import signing
from zoo.trust.keys import SigningKey, signing_key, trusted

FILES = {"a.bin": "1" * 64}
SERVER, CODE = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CODE_SIGNING
Issue = Callable[[bool | None, ObjectIdentifier | None], SigningKey]


@pytest.fixture
def issue(tmp_path: Path) -> Issue:
    """Makes a key with a certificate of the authority whose own is root.crt."""
    authority, leaf = write_key(tmp_path / "ca.pem"), write_key(tmp_path / "leaf.pem")
    root = certificate("authority", authority)
    (tmp_path / "root.crt").write_bytes(pem(root))

    def make(usage: bool | None, extended: ObjectIdentifier | None) -> SigningKey:
        issued = certificate("author", leaf, root, authority, usage=usage, extended=extended)
        (tmp_path / "chain.crt").write_bytes(pem(issued))
        return signing_key(tmp_path / "leaf.pem", tmp_path / "chain.crt")

    return make


@pytest.mark.parametrize(("usage", "extended"), [(True, None), (True, CODE), (None, CODE)])
def test_a_certificate_for_signing_counts(
    issue: Issue, tmp_path: Path, usage: bool | None, extended: ObjectIdentifier | None
) -> None:
    raw = signing.sign("draft", FILES, issue(usage, extended))
    assert signing.verify(raw, [trusted("org", tmp_path / "root.crt")]).by == "org"


@pytest.mark.parametrize(
    ("usage", "extended", "said"),
    [
        (True, SERVER, "its extended key usage lacks code signing"),
        (None, SERVER, "its extended key usage lacks code signing"),
        (True, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE, "its extended key usage lacks code signing"),
        (False, CODE, "its key usage lacks digital signatures"),
        (False, None, "its key usage lacks digital signatures"),
        (None, None, "its key usage lacks digital signatures"),
    ],
)
def test_a_certificate_for_something_else_neither_signs_nor_counts(
    issue: Issue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    usage: bool | None,
    extended: ObjectIdentifier | None,
    said: str,
) -> None:
    key = issue(usage, extended)
    with pytest.raises(UsageError, match=said):
        signing.refuse_unusable(key)
    with monkeypatch.context() as other_tool:  # one that signs with anything
        other_tool.setattr(signing, "unfit_certificate", lambda issued: "")
        raw = signing.sign("draft", FILES, key)
    with pytest.raises(signing.InvalidSignatureError, match=said):
        signing.verify(raw, [trusted("org", tmp_path / "root.crt")])


@pytest.mark.parametrize(
    "form", [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL]
)
def test_an_rsa_key_is_refused_in_words(tmp_path: Path, form: serialization.PrivateFormat) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    _refused(tmp_path, key, form)


def test_an_ed25519_key_is_refused_in_words(tmp_path: Path) -> None:
    _refused(tmp_path, ed25519.Ed25519PrivateKey.generate(), serialization.PrivateFormat.PKCS8)


def _refused(
    tmp_path: Path,
    key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey,
    form: serialization.PrivateFormat,
) -> None:
    path = tmp_path / "other.pem"
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    with pytest.raises(UsageError, match="only EC keys on P-256, P-384 or P-521 can") as refused:
        signing.refuse_unusable(signing_key(path))
    assert "openssl ecparam -name prime256v1" in refused.value.hint
    public = tmp_path / "other.pub"
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    write_key(tmp_path / "ec.pem")
    raw = signing.sign("draft", FILES, signing_key(tmp_path / "ec.pem"))
    with pytest.raises(signing.InvalidSignatureError, match="only EC keys on P-256"):
        signing.verify(raw, [trusted("alice", public)])
