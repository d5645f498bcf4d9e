"""Signing and verifying with an identity, as far as it goes without Sigstore: nothing here reaches it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.release.conftest import Place, Tree, tree  # noqa: F401
from tests.trust.conftest import Keys, Signed, release_signed, write
from tests.trust.making import certificate, write_key
from zoo.cli.target import publishing_target
from zoo.errors import ReleaseRefusedError, UnreadableError
from zoo.recipe.load import usable_recipe
from zoo.release.context import Plan, Release
from zoo.release.steps import run
from zoo.release.targets.hub_options import HubOptions
from zoo.trust.keyless import Identity, Keyless
from zoo.trust.policy import signers_of
from zoo.trust.signing import InvalidSignatureError, made_by, sign, verify
from zoo.workspace import find_zoo

FILES = {"a.bin": "1" * 64}
PROVIDER = "https://issuer.example.com"
TRUST = ("--identity", "a@example.com", "--identity-provider", PROVIDER)
ALICE = Identity("alice", "a@example.com", PROVIDER)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No connection, no CI and no terminal, wherever the tests run; nothing that Sigstore left before."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy", "GITHUB_ACTIONS", "GITLAB_CI", "CIRCLECI", "BUILDKITE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def bundle_of_an_identity(tmp_path: Path) -> bytes:
    """The form of one, with nothing true in it."""
    leaf = certificate("a", write_key(tmp_path / "leaf.pem"))
    return json.dumps(
        {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {
                    "rawBytes": base64.b64encode(leaf.public_bytes(serialization.Encoding.DER)).decode()
                },
                "tlogEntries": [],
            },
            "dsseEnvelope": {
                "payload": base64.b64encode(b"{}").decode(),
                "payloadType": "application/vnd.in-toto+json",
                "signatures": [{"sig": base64.b64encode(b"x").decode()}],
            },
        }
    ).encode()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sign-keyless", "--sign-key", "k.pem"), "two signatures"),
        (("--sign-keyless", "--certificate", "c.pem"), "--certificate is of a key"),
        (("--identity-token-env", "TOKEN"), "--identity-token-env is about an identity"),
        (("--sign-keyless", "--identity-token-env", ""), "--identity-token-env is empty"),
        (("--sign-keyless", "--identity-token-env", "NOT_SET"), 'variable "NOT_SET" holds no token'),
        (("--sign-keyless",), "Sigstore needs an identity"),
    ],
)
def test_a_release_refuses_what_cannot_sign_as_an_identity(
    place: Place, options: tuple[str, ...], said: str
) -> None:
    ran = place.push(*options)
    assert (ran.status, said in ran.err) == (2, True), ran.err
    assert not place.published.exists()


def test_without_sigstore_nothing_is_published_and_the_token_is_not_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "very-secret")
    ran = place.push("--sign-keyless", "--identity-token-env", "TOKEN")
    assert ran.status == 2
    assert "Sigstore cannot be used (Failed to refresh TUF metadata)" in ran.err
    assert "or sign with a key: --sign-key FILE" in ran.err
    assert "very-secret" not in ran.out + ran.err
    assert not place.published.exists()
    assert not (place.root / "release" / "tiny" / "1.0.0").exists()


def test_signing_itself_refuses_too_if_sigstore_goes_away_in_between() -> None:
    with pytest.raises(UnreadableError, match="Sigstore cannot be used"):
        sign("draft@1.0.0", FILES, Keyless())


def sign_step(place: Place, push: bool = True, spec: str | None = None) -> str:
    """A release as an identity, past the refusals of the command line; what its step ``sign`` says."""
    zoo = find_zoo(place.root)
    recipe, said = usable_recipe(zoo, "tiny"), dict[str, str]()
    target = publishing_target(zoo, spec, recipe, HubOptions())
    plan = Plan(zoo, recipe, target, push=push, sign_key=Keyless())
    run(Release(plan), lambda step, outcome: said.update({step.name: str(outcome)}))
    return said["sign"]


def test_a_push_that_sigstore_leaves_stops_before_anything_is_published(place: Place) -> None:
    with pytest.raises(UnreadableError, match="Sigstore cannot be used"):
        sign_step(place)
    assert not place.published.exists()
    assert not (place.root / "release/tiny").exists()
    assert place.push().status == 0


def test_a_dry_run_signs_nothing(place: Place) -> None:
    assert "keyless: only --push signs" in sign_step(place, push=False)


def test_a_version_keeps_the_signature_that_it_has(
    place: Place,
    author: Keys,
    tmp_path: Path,
    tree: Callable[[Path], Tree],  # noqa: F811
) -> None:
    assert release_signed(place, author).status == 0
    before = tree(place.published)
    assert "published already, signed" in sign_step(place)
    assert "released before, signed" in sign_step(place, spec=f"dir:{tmp_path / 'b'}")
    assert tree(place.published) == before


def test_a_version_that_is_published_unsigned_stays_so(place: Place) -> None:
    assert place.push().status == 0
    with pytest.raises(ReleaseRefusedError, match="published already, without a signature"):
        sign_step(place)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (TRUST[:2], "counts only as its provider states it"),
        (TRUST[2:], "counts only as its provider states it"),
        ((*TRUST[:3], ""), "counts only as its provider states it"),
        ((*TRUST, "--key", "k.pub"), "name one thing twice"),
        ((*TRUST, "--signer", "alice"), "name one thing twice"),
    ],
)
def test_an_identity_counts_only_whole_and_alone(signed: Signed, options: tuple[str, ...], said: str) -> None:
    ran = signed.run("verify", signed.folder, "--signature", *options)
    assert (ran.status, said in ran.err) == (2, True), ran.err


def test_an_identity_without_signature_is_refused(signed: Signed) -> None:
    ran = signed.run("verify", signed.folder, *TRUST)
    assert (ran.status, "are about a signature" in ran.err) == (2, True)


def test_a_signature_by_a_key_is_none_of_an_identity(signed: Signed) -> None:
    ran = signed.run("verify", signed.folder, "--signature", "--deep", *TRUST)
    assert (ran.status, "error P001" in ran.out) == (1, True), ran.err
    assert "a@example.com: it was made with a key, and what is trusted is none" in " ".join(ran.out.split())


def test_whom_a_signature_names_is_told_without_believing_it(tmp_path: Path) -> None:
    assert made_by(bundle_of_an_identity(tmp_path)) == 'the certificate of "CN=a"'
    document = json.loads(bundle_of_an_identity(tmp_path))
    document["verificationMaterial"]["certificate"]["rawBytes"] = "AAAA"
    with pytest.raises(InvalidSignatureError, match="its certificate cannot be read"):
        made_by(json.dumps(document).encode())


def test_a_signature_by_an_identity_is_none_of_a_key(signed: Signed, tmp_path: Path) -> None:
    write(signed.folder / "model.sig", bundle_of_an_identity(tmp_path))
    [message] = signed.codes()["P001"]
    assert "it was made with an identity, and what is trusted is none" in message


def test_a_bundle_without_an_entry_of_the_log_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidSignatureError, match="expected exactly one log entry"):
        verify(bundle_of_an_identity(tmp_path), [ALICE])


def test_a_field_that_no_bundle_of_an_identity_has_is_refused(tmp_path: Path) -> None:
    document = json.loads(bundle_of_an_identity(tmp_path))
    document["verificationMaterial"]["more"] = 1
    with pytest.raises(InvalidSignatureError, match="it has a field, or a value"):
        verify(json.dumps(document).encode(), [ALICE])


def test_a_zoo_trusts_an_identity_beside_a_key(place: Place, author: Keys) -> None:
    (place.root / "keys").mkdir()
    (place.root / "keys/bob.pub").write_bytes(author.public.read_bytes())
    (place.root / "zoo.toml").write_text(
        'publish_to = "dir:published"\n[trust]\nsigners = [\n'
        f'{{name = "alice", identity = "a@example.com", provider = "{PROVIDER}"}},\n'
        '{name = "bob", key = "keys/bob.pub"}]\n'
    )
    assert signers_of(find_zoo(place.root), "alice") == (ALICE,)
    assert release_signed(place, author).status == 0
    verify = ("--zoo", place.root, "verify", "tiny@1.0.0", "--signature", "--deep")
    ran = place.run(*verify)
    assert (ran.status, "tiny@1.0.0 by bob" in ran.out) == (0, True), ran.err
    ran = place.run(*verify, "--signer", "alice")
    assert (ran.status, "error P001" in ran.out) == (1, True)
