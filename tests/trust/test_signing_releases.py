"""``zoo release --sign-key``: what is signed, when, and what becomes of the key."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.conftest import Ran
from tests.release.conftest import Place, Tree, tree  # noqa: F401
from tests.release.test_gates import add_evidence
from tests.trust.conftest import Keys, release_signed, write
from tests.trust.making import certificate, pem, write_key
from tests.trust.test_policy import trust
from zoo.results import Outcome
from zoo.trust.keys import signing_key
from zoo.trust.signing import sign

SIGNATURE = "published/tiny/1.0.0/model.sig"


def verify(place: Place, *args: str | Path) -> Ran:
    return place.run("--zoo", place.root, "verify", "tiny@1.0.0", "--signature", *args)


def test_a_signed_release_has_its_signature_published_and_recorded(place: Place, author: Keys) -> None:
    ran = release_signed(place, author)
    assert ran.status == 0, ran.err
    assert 'sign       7 files, by "author.pem"' in ran.out
    assert (place.root / SIGNATURE).read_bytes() == (place.root / "release/tiny/1.0.0/model.sig").read_bytes()
    manifest = json.loads((place.published / "tiny/1.0.0/manifest.json").read_bytes())
    assert "model.sig" not in {file["path"] for file in manifest["files"]}
    assert verify(place, "--key", author.public, "--deep").status == 0


def test_the_same_release_gets_the_same_signature_anywhere(
    place: Place, author: Keys, tmp_path: Path
) -> None:
    for where in ("a", "b"):
        assert release_signed(place, author, "--to", f"dir:{tmp_path / where}").status == 0
        shutil.rmtree(place.root / "release")
    one, other = (tmp_path / where / "tiny/1.0.0/model.sig" for where in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()


def test_a_second_target_gets_the_signature_of_the_first(place: Place, author: Keys, tmp_path: Path) -> None:
    assert release_signed(place, author).status == 0
    ran = place.push("--to", f"dir:{tmp_path / 'b'}")
    assert "sign       skipped: released before, signed" in ran.out
    assert (tmp_path / "b/tiny/1.0.0/model.sig").read_bytes() == (place.root / SIGNATURE).read_bytes()


def test_releasing_again_changes_nothing_and_mends_a_lost_record(
    place: Place,
    author: Keys,
    tree: Callable[[Path], Tree],  # noqa: F811
) -> None:
    assert release_signed(place, author).status == 0
    before = tree(place.published), tree(place.root / "release")
    again = release_signed(place, author)
    assert (again.status, "skipped: published already, signed" in again.out) == (0, True)
    assert (tree(place.published), tree(place.root / "release")) == before
    (place.root / "release/tiny/1.0.0/model.sig").unlink()
    assert place.push().status == 0
    assert (place.root / "release/tiny/1.0.0/model.sig").exists()


def test_a_version_that_is_published_unsigned_cannot_be_signed_any_more(place: Place, author: Keys) -> None:
    assert place.push().status == 0
    ran = release_signed(place, author)
    assert ran.status == 1
    assert "tiny 1.0.0 is published already, without a signature" in ran.err
    assert not (place.root / SIGNATURE).exists()


def test_a_version_that_another_key_signed_keeps_that_signature_and_the_step_says_whose_it_is(
    place: Place, author: Keys, stranger: Keys, tmp_path: Path
) -> None:
    assert release_signed(place, author).status == 0
    before = (place.root / SIGNATURE).read_bytes()
    record = place.root / "release/tiny/1.0.0/model.sig"
    key = hashlib.sha256(author.public.read_bytes()).hexdigest()[:12]
    said = f'signed by the key with sha256 {key}… (another than "stranger.pem"); it keeps that signature'
    ran = place.push("--sign-key", str(stranger.private))
    assert (ran.status, f"skipped: published already, {said}" in ran.out) == (0, True), ran.out + ran.err
    elsewhere = place.push("--sign-key", str(stranger.private), "--to", f"dir:{tmp_path / 'b'}")
    assert (elsewhere.status, f"skipped: released before, {said}" in elsewhere.out) == (0, True), (
        elsewhere.out
    )
    again = release_signed(place, author)
    assert (again.status, "another than" in again.out) == (0, False)
    copies = (place.root / SIGNATURE, record, tmp_path / "b/tiny/1.0.0/model.sig")
    assert {path.read_bytes() for path in copies} == {before}


def test_the_signer_of_a_published_version_is_named_as_the_settings_do(
    place: Place, author: Keys, stranger: Keys
) -> None:
    trust(place, alice=author.public)
    assert release_signed(place, author).status == 0
    ran = place.push("--sign-key", str(stranger.private))
    assert 'signed by "alice", a signer of this zoo (another than "stranger.pem"); it keeps' in ran.out
    write(place.root / SIGNATURE, sign("tiny@1.0.0", {"config.json": "0" * 64}, signing_key(author.private)))
    ran = place.push("--sign-key", str(stranger.private))
    assert 'signed by nobody: "alice" signed other files' in ran.out
    write(place.root / SIGNATURE, b"{}")
    ran = place.push("--sign-key", str(stranger.private))
    assert "signed by nobody: it is no bundle of a signature" in ran.out


def test_a_zoo_with_signers_publishes_nothing_unsigned_unless_somebody_says_so(
    place: Place, author: Keys, tmp_path: Path
) -> None:
    trust(place, alice=author.public)
    dry = place.release()
    assert dry.status == 2
    assert "sign       skipped: not signed, and this zoo has signers" in dry.out
    assert "would be published without a signature" in dry.out
    ran = place.push()
    assert (ran.status, "--sign-key FILE; or say that nobody shall: --unsigned" in ran.err) == (2, True)
    assert not (place.published / "tiny").exists()
    both = place.push("--unsigned", "--sign-key", str(author.private))
    assert (both.status, "--unsigned goes with no signature" in both.err) == (2, True)
    ran = place.push("--unsigned")
    assert (ran.status, "not asked for (--unsigned), and this zoo has signers" in ran.out) == (0, True)
    assert not (place.root / SIGNATURE).exists()
    again, elsewhere = place.push(), place.push("--to", f"dir:{tmp_path / 'b'}")
    assert (again.status, "skipped: published already, not signed" in again.out) == (0, True)
    assert (elsewhere.status, "skipped: released before, not signed" in elsewhere.out) == (0, True)


def test_a_signed_version_of_a_zoo_with_signers_needs_its_key_once(
    place: Place, author: Keys, tmp_path: Path
) -> None:
    trust(place, alice=author.public)
    assert release_signed(place, author).status == 0
    assert place.push().status == 0
    assert place.push("--to", f"dir:{tmp_path / 'b'}").status == 0
    assert (tmp_path / "b/tiny/1.0.0/model.sig").read_bytes() == (place.root / SIGNATURE).read_bytes()


def test_the_holder_of_a_certificate_is_named_by_its_subject(
    place: Place, stranger: Keys, tmp_path: Path
) -> None:
    authority, leaf = write_key(tmp_path / "ca.pem"), write_key(tmp_path / "leaf.pem")
    chain = pem(certificate("author", leaf, certificate("authority", authority), authority))
    (tmp_path / "chain.crt").write_bytes(chain)
    signed = ("--sign-key", str(tmp_path / "leaf.pem"), "--certificate", str(tmp_path / "chain.crt"))
    assert place.push(*signed).status == 0
    ran = place.push("--sign-key", str(stranger.private))
    assert 'signed by the certificate of "CN=author" (another than "stranger.pem")' in ran.out


def test_a_dry_run_tries_the_key_and_writes_nothing(
    place: Place,
    author: Keys,
    tree: Callable[[Path], Tree],  # noqa: F811
) -> None:
    before = tree(place.root)
    ran = place.release("--sign-key", str(author.private))
    assert (ran.status, 'sign       7 files, by "author.pem"' in ran.out) == (0, True)
    assert tree(place.root) == before


def test_nothing_of_the_private_key_is_shown_or_kept(place: Place, author: Keys) -> None:
    ran = release_signed(place, author, "--format", "json")
    secret = "".join(author.private.read_text().splitlines()[1:-1])
    assert ran.status == 0
    everything = [path.read_bytes() for path in place.root.rglob("*") if path.is_file()]
    for length in (40, len(secret)):
        part = secret[:length]
        assert part not in (ran.out + ran.err).replace("\n", "")
        assert not any(part.encode() in content.replace(b"\n", b"") for content in everything)


def test_keys_that_cannot_sign_are_refused_before_anything_is_read(
    place: Place, author: Keys, tmp_path: Path
) -> None:
    write_key(tmp_path / "secret.pem", password=b"secret")
    write_key(tmp_path / "other-curve.pem", ec.SECP256K1())
    (tmp_path / "empty.pem").write_bytes(b"")
    (tmp_path / "broken.pem").write_bytes(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    for name, said in {
        "secret.pem": "is encrypted",
        "other-curve.pem": "cannot be used to sign",
        "empty.pem": "holds no private key",
        "broken.pem": "cannot be used to sign",
        "nowhere.pem": "cannot be read",
    }.items():
        ran = place.push("--sign-key", str(tmp_path / name))
        assert (ran.status, said in ran.err, ran.out) == (2, True, ""), name
    ran = place.push("--certificate", str(author.public))
    assert (ran.status, "--certificate is of a key" in ran.err) == (2, True)
    ran = place.push("--sign-key", str(author.private), "--certificate", str(author.public))
    assert (ran.status, "holds no certificate" in ran.err) == (2, True)


def test_a_certificate_of_an_authority_counts_and_one_of_another_does_not(
    place: Place, tmp_path: Path
) -> None:
    authority, leaf = write_key(tmp_path / "ca.pem"), write_key(tmp_path / "leaf.pem")
    root = certificate("authority", authority)
    (tmp_path / "root.crt").write_bytes(pem(root))
    (tmp_path / "chain.crt").write_bytes(pem(certificate("author", leaf, root, authority)))
    (tmp_path / "other.crt").write_bytes(pem(certificate("authority", write_key(tmp_path / "x.pem"))))
    ran = place.push("--sign-key", str(tmp_path / "leaf.pem"), "--certificate", str(tmp_path / "chain.crt"))
    assert ran.status == 0, ran.err
    assert verify(place, "--deep", "--key", tmp_path / "root.crt").status == 0
    ran = verify(place, "--deep", "--key", tmp_path / "other.crt")
    assert (ran.status, "its certificate is not trusted" in ran.out) == (1, True)
    wrong = place.push("--sign-key", str(tmp_path / "ca.pem"), "--certificate", str(tmp_path / "chain.crt"))
    assert (wrong.status, "does not match" in wrong.err) == (2, True)


@pytest.mark.parametrize("name", ["model.sig", "provenance.intoto.jsonl", "Model.SIG"])
def test_a_declared_file_cannot_have_the_name_of_what_the_tool_writes(place: Place, name: str) -> None:
    (place.checkpoint / name).write_bytes(b"x")
    place.edit_recipe("    report.pdf: document\n", f"    report.pdf: document\n    {name}: document\n")
    assert place.push().status == 1


def test_a_release_that_the_zoo_knows_is_compared_with_its_log_and_its_evidence(
    place: Place, author: Keys
) -> None:
    path = add_evidence(place, "replay", Outcome.PASSED)
    assert release_signed(place, author).status == 0
    assert verify(place, "--deep", "--key", author.public).status == 0
    said = json.loads((place.published / "tiny/1.0.0/provenance.intoto.jsonl").read_bytes())
    assert said["predicate"]["evidence"].keys() == {"replay-held-out.json"}
    path.write_bytes(path.read_bytes().replace(b"18:01:00", b"18:02:00"))
    ran = verify(place, "--deep", "--key", author.public)
    assert ran.status == 1
    assert 'error P005 "replay-held-out.json": it is not the record that the release rests on' in ran.out


def test_a_changed_file_of_a_release_is_named_as_for_a_stranger(place: Place, author: Keys) -> None:
    assert release_signed(place, author).status == 0
    write(place.published / "tiny/1.0.0/notes.md", b"x")
    ran = verify(place, "--deep", "--key", author.public)
    assert ran.status == 1
    assert 'error P002 "notes.md": it has sha256' in ran.out


def test_a_recipe_has_no_signature(place: Place, author: Keys) -> None:
    ran = place.run("--zoo", place.root, "verify", "tiny", "--signature", "--key", author.public)
    assert (ran.status, "a recipe is not signed" in ran.err) == (2, True)


def test_a_pulled_release_can_be_verified_without_the_zoo(
    place: Place, author: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert release_signed(place, author).status == 0
    out = tmp_path / "pulled"
    assert place.run("--zoo", place.root, "pull", "tiny@1.0.0", "--out", out).status == 0
    monkeypatch.chdir(tmp_path)
    ran = place.run("verify", out, "--signature", "--key", author.public, "--deep")
    assert ran.status == 0, ran.out + ran.err
