"""Signatures in the form of OpenSSF model signing 1.0: a Sigstore bundle over the list of all files with
their sha256 (an in-toto statement in a DSSE envelope).

Our digests go in as they are: the library would hash every file again. For that, and for signatures that are
the same each time, private names of ``model_signing`` are needed. This module is the only one that touches
them; what it writes, the stock ``model_signing verify`` accepts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from zoo.checkpoint.jsonfile import MalformedJson, Repeated, decode
from zoo.digests import canonical_json
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.trust import keyless
from zoo.trust.fitness import unfit_certificate, unfit_key
from zoo.trust.keyless import Identity, Keyless, Signatory
from zoo.trust.keys import SigningKey
from zoo.trust.library import library

# The library's word for "the file itself", where one file is signed and not a folder.
ITSELF = "."
_PAYLOAD_TYPE = "application/vnd.in-toto+json"
_STATEMENT = frozenset({"_type", "subject", "predicateType", "predicate"})
_PREDICATE = frozenset({"serialization", "resources"})
_RESOURCE = frozenset({"name", "algorithm", "digest"})
_LOGGED = frozenset({"tlogEntries", "timestampVerificationData"})
# The form of the verification material, by what it was made with.
_MADE_WITH = {"publicKey": "a key", "x509CertificateChain": "a certificate", "certificate": "an identity"}
_OTHER_KEY = "make one that can: openssl ecparam -name prime256v1 -genkey -noout -out release.pem"
_OTHER_CERTIFICATE = "use an EC key (P-256, P-384, P-521) with a certificate of it that is for code signing"


class InvalidSignatureError(Exception):
    """A signature proves nothing: it is malformed, of nobody who is trusted, or of something else."""


@dataclass(frozen=True, slots=True)
class Signed:
    """What a valid signature says. ``by`` signed ``name``: ``files`` maps each path to its sha256."""

    by: str
    name: str
    files: Mapping[str, str]


def sign(
    name: str, files: Mapping[str, str], key: SigningKey | Keyless, ignored: Iterable[str] = ()
) -> bytes:
    """The signature over ``files`` (path -> sha256), which are together called ``name``; by a key the
    same bytes each time. ``ignored`` are paths that a verifier shall not look at, such as that of the
    signature.

    Raises:
        UsageError: the key cannot be used, or there is no identity.
        UnreadableError: Sigstore cannot be used.
        MissingLibraryError: the extra ``sign`` is not installed.
    """
    with library():
        from model_signing import manifest
        from model_signing._hashing.hashing import Digest
        from model_signing._signing.signing import Payload

    items = [
        manifest.FileManifestItem(path=PurePosixPath(path), digest=Digest("sha256", bytes.fromhex(sha256)))
        for path, sha256 in files.items()
    ]
    form = manifest._FileSerialization("sha256", ignore_paths=map(Path, ignored))
    payload = Payload(manifest.Manifest(name, items, form))
    if isinstance(key, Keyless):
        with library():
            return keyless.envelope(payload, key)
    return _envelope(payload, key)


def refuse_unusable(key: SigningKey) -> None:
    """Make sure that ``key`` can sign, without signing anything.

    Raises as :func:`sign` does.
    """
    with library():
        import model_signing.signing  # noqa: F401
    _signer(key)


def is_by(raw: bytes, key: SigningKey) -> bool:
    """Whether the signature ``raw`` names ``key``, or its certificate, as the one that made it. What it says
    is not verified here.

    Raises as :func:`sign` does.
    """
    with library():
        import model_signing.signing  # noqa: F401
    ours = json.loads(_signer(key)._get_verification_material().to_json())
    try:
        return bool(_document(raw)["verificationMaterial"] == _material(ours))
    except InvalidSignatureError:
        return False


def made_by(raw: bytes) -> str:
    """Who the signature ``raw`` names as the one that made it, in words: a key by the sha256 of its public
    half in PEM (``sha256sum KEY.pub``), a certificate by its subject or identity. Nothing is verified here.

    Raises:
        InvalidSignatureError: it is no signature.
        MissingLibraryError: the extra ``sign`` is not installed.
    """
    with library():
        from cryptography import x509

    material = _document(raw)["verificationMaterial"]
    if "publicKey" in material:
        return f"the key with sha256 {printable(material['publicKey']['hint'][:12], keep='')}…"
    certificates = material.get("x509CertificateChain", {}).get("certificates", [material.get("certificate")])
    try:
        leaf = x509.load_der_x509_certificate(base64.b64decode(certificates[0]["rawBytes"]))
        names = [str(each.value) for each in _alternative_names(leaf)] or [leaf.subject.rfc4514_string()]
    except (LookupError, ValueError) as error:
        raise InvalidSignatureError(f"its certificate cannot be read: {error}") from None
    return f"the certificate of {quoted(', '.join(names))}"


def verify(raw: bytes, trusted: Iterable[Signatory]) -> Signed:
    """What the signature ``raw`` says, if one of ``trusted`` made it.

    The fields are exactly those of such a bundle, and what each says is checked. Whoever changes the file can
    break it, or write the same in another way (docs/trust.md): never change who signed, or what.

    Raises:
        InvalidSignatureError: it proves nothing; the message says why.
        UnreadableError: it is one of an identity, and Sigstore cannot be reached.
        MissingLibraryError: the extra ``sign`` is not installed.
    """
    document = _document(raw)
    reasons: list[str] = []
    for each in trusted:
        try:
            listed = _verified(document, each)
        except InvalidSignatureError as error:
            reasons.append(f"{each.name}: {error}")
        else:
            return Signed(each.name, *_content(document, listed))
    raise InvalidSignatureError("; ".join(reasons))


def _envelope(payload: Any, key: SigningKey) -> bytes:
    """``payload`` signed, as the text of a bundle. The library would write the fields of the payload in an
    order of its own each time, and draw a random number for each signature (RFC 6979 needs none)."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from google.protobuf.json_format import MessageToDict
    from model_signing._signing import sign_ec_key, sign_sigstore_pb

    signer = _signer(key)
    text = canonical_json(MessageToDict(payload.statement.pb))
    algorithm = sign_ec_key.get_ec_key_hash(signer._private_key.public_key())
    signature = signer._private_key.sign(
        sign_sigstore_pb.pae(text), ec.ECDSA(algorithm, deterministic_signing=True)
    )
    bundle = {
        "mediaType": sign_sigstore_pb._BUNDLE_MEDIA_TYPE,
        "verificationMaterial": json.loads(signer._get_verification_material().to_json()),
        "dsseEnvelope": {
            "payload": base64.b64encode(text).decode(),
            "payloadType": _PAYLOAD_TYPE,
            "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}],
        },
    }
    return json.dumps(bundle, indent=2, sort_keys=True).encode() + b"\n"


def _signer(key: SigningKey) -> Any:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from model_signing._signing import sign_certificate, sign_ec_key

    try:
        _refuse(unfit_key(load_pem_private_key(key.path.read_bytes(), None).public_key()))
        if key.chain is None:
            return sign_ec_key.Signer(key.path)
        signer = sign_certificate.Signer(key.path, key.chain, [key.chain])
        _refuse(unfit_certificate(signer._signing_certificate))
        # The library wants the issuers in a file of their own; ours is in the order of every TLS server.
        signer._trust_chain = x509.load_pem_x509_certificates(key.chain.read_bytes())[1:]
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        place = quoted(str(key.path)) + (f" with {quoted(str(key.chain))}" if key.chain else "")
        raise UsageError(
            f"{place} cannot be used to sign: {printable(str(error), keep='', limit=200)}",
            hint=_OTHER_KEY if key.chain is None else _OTHER_CERTIFICATE,
        ) from None
    return signer


def _refuse(reason: str) -> None:
    if reason:
        raise ValueError(reason)


def _document(raw: bytes) -> Mapping[str, Any]:
    """The bundle, if it has exactly the fields of one that was made with a key, a certificate or an identity.
    The log entries and times of an identity are judged by the library."""
    try:
        document = decode(raw)
    except MalformedJson as error:
        raise InvalidSignatureError(f"it is not JSON: {error.reason}") from None
    if isinstance(document, Repeated):
        raise InvalidSignatureError("a field is there twice")
    try:
        envelope, material = document["dsseEnvelope"], document["verificationMaterial"]
        [signature] = envelope["signatures"]
        expected: dict[str, Any] = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": _material(material),
            "dsseEnvelope": {
                "payload": _base64(envelope["payload"]),
                "payloadType": _PAYLOAD_TYPE,
                "signatures": [{"sig": _base64(signature["sig"]), "keyid": ""}],
            },
        }
        if "certificate" in material and "keyid" not in signature:  # Sigstore leaves it out
            del expected["dsseEnvelope"]["signatures"][0]["keyid"]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidSignatureError(
            "it is no bundle of a signature by a key, a certificate or an identity"
        ) from None
    if document != expected:
        raise InvalidSignatureError("it has a field, or a value, that no signature of this kind has")
    return expected


def _material(material: Mapping[str, Any]) -> dict[str, Any]:
    if "publicKey" in material:
        hint = str(material["publicKey"]["hint"])
        if not hint:  # the library would try any key, and say so on stdout
            raise ValueError("it does not name its key")
        return {"publicKey": {"hint": hint}, "tlogEntries": []}
    if "certificate" in material:
        logged = {key: material[key] for key in _LOGGED & material.keys()}
        return {"certificate": {"rawBytes": _base64(material["certificate"]["rawBytes"])}, **logged}
    certificates = material["x509CertificateChain"]["certificates"]
    chain = [{"rawBytes": _base64(each["rawBytes"])} for each in certificates]
    return {"x509CertificateChain": {"certificates": chain}, "tlogEntries": []}


def _base64(text: str) -> str:
    """``text`` in the one way to write it: unused bits could be changed unseen."""
    return base64.b64encode(base64.b64decode(text, validate=True)).decode()


def _alternative_names(certificate: Any) -> list[Any]:
    """What an identity of Sigstore is stated as: a mail address, the address of a workflow."""
    from cryptography import x509

    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return list(extension.value)


def _verified(document: Mapping[str, Any], trusted: Signatory) -> Mapping[str, str]:
    """The files that the library reads out of a signature, once it is valid."""
    with library():
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
        from cryptography.x509 import load_der_x509_certificate
        from model_signing._signing import sign_certificate, sign_ec_key, sign_sigstore_pb
        from OpenSSL import crypto
        from sigstore_models.bundle.v1 import Bundle

    [made] = _MADE_WITH.keys() & document["verificationMaterial"].keys()
    if made != _form(trusted):
        raise InvalidSignatureError(f"it was made with {_MADE_WITH[made]}, and what is trusted is none")
    try:
        if isinstance(trusted, Identity):
            with library():
                return _listed(keyless.verified(document, trusted))
        if trusted.is_authority:
            chain = document["verificationMaterial"]["x509CertificateChain"]["certificates"]
            _refuse(unfit_certificate(load_der_x509_certificate(base64.b64decode(chain[0]["rawBytes"]))))
        else:
            _refuse(unfit_key(load_pem_public_key(trusted.path.read_bytes())))
        verifier = (
            sign_certificate.Verifier([trusted.path])
            if trusted.is_authority
            else sign_ec_key.Verifier(trusted.path)
        )
        signed = verifier.verify(sign_sigstore_pb.Signature(Bundle.from_dict(dict(document))))
    except InvalidSignature:
        raise InvalidSignatureError("the signature is not one over this content") from None
    except crypto.X509StoreContextError as error:
        raise InvalidSignatureError(f"its certificate is not trusted: {error}") from None
    except (LookupError, ValueError, TypeError, AttributeError, UnsupportedAlgorithm, OSError) as error:
        raise InvalidSignatureError(printable(str(error), keep="", limit=200).rstrip(". ")) from None
    return _listed(signed)


def _form(trusted: Signatory) -> str:
    if isinstance(trusted, Identity):
        return "certificate"
    return "x509CertificateChain" if trusted.is_authority else "publicKey"


def _listed(manifest: Any) -> Mapping[str, str]:
    return {each.identifier: each.digest.digest_hex for each in manifest.resource_descriptors()}


def _content(document: Mapping[str, Any], listed: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Name and files of a signed statement: files by their sha256, in full, and nothing that is left out."""
    statement = decode(base64.b64decode(document["dsseEnvelope"]["payload"]))
    predicate = statement["predicate"]
    resources = predicate["resources"]
    whole = (
        statement.keys() == _STATEMENT
        and predicate.keys() == _PREDICATE
        and predicate["serialization"].get("method") == "files"
        and all(each.keys() == _RESOURCE and each["algorithm"] == "sha256" for each in resources)
        and {each["name"]: each["digest"] for each in resources} == listed
        and len(resources) == len(listed)
    )
    if not whole:
        raise InvalidSignatureError("it signs something else than a list of files with their sha256")
    return str(statement["subject"][0]["name"]), listed
