"""Signing and verifying lists of digests, without any file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.trust.making import public_pem, write_key
from zoo.trust.keys import signing_key, trusted
from zoo.trust.signing import InvalidSignatureError, Signed, sign, verify

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
            assert verify(bytes(changed), alice) == known  # only white space is left to change
        except InvalidSignatureError:
            continue
        assert b"".join(changed.split()) == b"".join(raw.split())
