"""Making keys and certificates for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


def write_key(path: Path, curve: ec.EllipticCurve | None = None, password: bytes | None = None) -> Key:
    """A new private key, written to ``path`` in PEM."""
    key = ec.generate_private_key(curve or ec.SECP256R1())
    hidden: serialization.KeySerializationEncryption = (
        serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password)
    )
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden))
    return key


def public_pem(key: Key) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def certificate(
    name: str,
    key: Key,
    issuer: x509.Certificate | None = None,
    by: Key | None = None,
    *,
    usage: bool | None = True,
    extended: x509.ObjectIdentifier | None = None,
) -> x509.Certificate:
    """A certificate of ``key``, from ``issuer`` (whose key is ``by``) or, without one, an authority's own.
    ``usage``: whether that of an issuer allows digital signatures, or None for no key usage at all;
    ``extended``: its extended key usage."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    none = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    issues = issuer is None
    if issues or usage is not None:
        signs = not issues and bool(usage)
        builder = builder.add_extension(
            x509.KeyUsage(digital_signature=signs, key_cert_sign=issues, crl_sign=issues, **none),
            critical=True,
        )
    if extended is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([extended]), critical=False)
    return builder.sign(by or key, hashes.SHA256())


def pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)
