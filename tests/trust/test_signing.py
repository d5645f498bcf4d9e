"""Signing and verifying lists of digests, without any file."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding

from tests.trust.making import certificate, pem, public_pem, write_key
from zoo.trust.keys import signing_key, trusted
from zoo.trust.signing import InvalidSignatureError, Signed, sign, verify

# Of P-256 (SEC 2, 2.4.2).
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
FILES = {"a.bin": "1" * 64, "sub/b.txt": "2" * 64, "é.md": "3" * 64}


@pytest.mark.parametrize("curve", [ec.SECP256R1, ec.SECP384R1, ec.SECP521R1])
def test_digests_of_files_that_are_nowhere_are_signed_as_they_are(
    tmp_path: Path, curve: type[ec.EllipticCurve]
) -> None:
    key = write_key(tmp_path / "k.pem", curve())
    (tmp_path / "k.pub").write_bytes(public_pem(key))
    raw = sign("draft@1.0.0", FILES, signing_key(tmp_path / "k.pem"))
    assert raw == sign("draft@1.0.0", dict(reversed(FILES.items())), signing_key(tmp_path / "k.pem"))
    assert verify(raw, [trusted("alice", tmp_path / "k.pub")]) == Signed("alice", "draft@1.0.0", FILES)


def test_the_first_trusted_signer_whose_key_fits_is_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.pub").write_bytes(public_pem(write_key(tmp_path / f"{name}.pem")))
    both = [trusted(name, tmp_path / f"{name}.pub") for name in ("a", "b")]
    raw = sign("draft", FILES, signing_key(tmp_path / "b.pem"))
    assert verify(raw, both).by == "b"
    with pytest.raises(InvalidSignatureError, match="a: Key mismatch"):
        verify(raw, both[:1])


def test_no_change_of_any_byte_of_a_signature_gives_other_content(tmp_path: Path) -> None:
    (tmp_path / "k.pub").write_bytes(public_pem(write_key(tmp_path / "k.pem")))
    alice = [trusted("alice", tmp_path / "k.pub")]
    raw = sign("draft", FILES, signing_key(tmp_path / "k.pem"))
    chosen, known = random.Random(7), Signed("alice", "draft", FILES)
    for _ in range(1000):
        changed = bytearray(raw)
        changed[chosen.randrange(len(raw))] ^= 1 << chosen.randrange(8)
        try:
            assert verify(bytes(changed), alice) == known  # only how it is written is left to change
        except InvalidSignatureError:
            continue
        assert b"".join(changed.split()) == b"".join(raw.split())


def test_a_signature_that_is_written_in_another_way_says_the_same(tmp_path: Path) -> None:
    """docs/trust.md: nothing signs how a signature is written, so that two good copies may differ."""
    key = write_key(tmp_path / "k.pem")
    (tmp_path / "k.pub").write_bytes(public_pem(key))
    alice, known = [trusted("alice", tmp_path / "k.pub")], Signed("alice", "draft", FILES)
    raw = sign("draft", FILES, signing_key(tmp_path / "k.pem"))
    document = json.loads(raw)
    [signature] = document["dsseEnvelope"]["signatures"]
    r, s = decode_dss_signature(base64.b64decode(signature["sig"]))
    signature["sig"] = base64.b64encode(encode_dss_signature(r, _ORDER - s)).decode()
    written = {
        "one line": json.dumps(json.loads(raw)).encode(),
        "other order": json.dumps(dict(reversed(json.loads(raw).items()))).encode(),
        "escapes": raw.replace(b"dsseEnvelope", b"dsseEnv\\u0065lope"),
        "the other half of the curve": json.dumps(document).encode(),
    }
    assert raw not in written.values()
    for how, other in written.items():
        assert verify(other, alice) == known, how


def test_a_signature_that_does_not_name_its_key_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.pub").write_bytes(public_pem(write_key(tmp_path / "k.pem")))
    document = json.loads(sign("draft", FILES, signing_key(tmp_path / "k.pem")))
    document["verificationMaterial"]["publicKey"]["hint"] = ""
    with pytest.raises(InvalidSignatureError, match="it is no bundle of a signature"):
        verify(json.dumps(document).encode(), [trusted("alice", tmp_path / "k.pub")])
    assert capsys.readouterr().out == ""


def test_a_certificate_that_nobody_needs_changes_nothing_of_what_is_said(tmp_path: Path) -> None:
    authority, leaf = write_key(tmp_path / "ca.pem"), write_key(tmp_path / "leaf.pem")
    root = certificate("authority", authority)
    (tmp_path / "root.crt").write_bytes(pem(root))
    (tmp_path / "chain.crt").write_bytes(pem(certificate("author", leaf, root, authority), root))
    raw = sign("draft", FILES, signing_key(tmp_path / "leaf.pem", tmp_path / "chain.crt"))
    document = json.loads(raw)
    chain = document["verificationMaterial"]["x509CertificateChain"]["certificates"]
    other = certificate("somebody", write_key(tmp_path / "x.pem"))
    chain.append({"rawBytes": base64.b64encode(other.public_bytes(Encoding.DER)).decode()})
    trust = [trusted("authority", tmp_path / "root.crt")]
    assert verify(json.dumps(document).encode(), trust) == verify(raw, trust)
