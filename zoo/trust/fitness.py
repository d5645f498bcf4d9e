"""Which keys and certificates can sign a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

# As OpenSSL names them: P-256, P-384 and P-521, those of the model signing specification 1.0.
_CURVES = ("secp256r1", "secp384r1", "secp521r1")


def unfit_key(public: object) -> str:
    """Why a public key, or the private one that it belongs to, cannot sign; "" if it can."""
    from cryptography.hazmat.primitives.asymmetric import ec

    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        return ""
    kind = public.curve.name if isinstance(public, ec.EllipticCurvePublicKey) else "another kind"
    return f"only EC keys on P-256, P-384 or P-521 can, and this is one of {kind}"


def unfit_certificate(certificate: x509.Certificate) -> str:
    """Why a certificate is not one for signing; "" if it is. An authority issues others too, to servers for
    example, and who holds one of those must not sign releases.

    RFC 5280, 4.2.1.3 and 4.2.1.12: each extension that is there must allow it. An extended key usage must
    name code signing; without one, the key usage must be there and name digital signatures.

    Raises ValueError: its extensions cannot be read.
    """
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usage: x509.KeyUsage | None = None
    extended: x509.ExtendedKeyUsage | None = None
    for extension in certificate.extensions:
        if isinstance(extension.value, x509.KeyUsage):
            usage = extension.value
        elif isinstance(extension.value, x509.ExtendedKeyUsage):
            extended = extension.value
    if extended is not None and ExtendedKeyUsageOID.CODE_SIGNING not in extended:
        return "the certificate is not one for signing: its extended key usage lacks code signing"
    if (usage is None and extended is None) or (usage is not None and not usage.digital_signature):
        return "the certificate is not one for signing: its key usage lacks digital signatures"
    return unfit_key(certificate.public_key())
