"""A zoo with signers: whose evidence counts, and whose releases."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.release.conftest import Place
from tests.release.test_gates import add_evidence, gates_of
from tests.trust.conftest import Keys, release_signed
from zoo.errors import SettingsError
from zoo.evidence import load_evidence
from zoo.recipe.load import usable_recipe
from zoo.results import Outcome
from zoo.workspace import find_zoo


def trust(place: Place, **signers: Path) -> None:
    """Let the zoo trust these, by name."""
    (place.root / "keys").mkdir(exist_ok=True)
    lines = []
    for name, key in signers.items():
        shutil.copy(key, place.root / "keys" / f"{name}.pub")
        lines.append(f'{{name = "{name}", key = "keys/{name}.pub"}}')
    settings = f'publish_to = "dir:published"\n[trust]\nsigners = [{", ".join(lines)}]\n'
    (place.root / "zoo.toml").write_text(settings)


def sign(place: Place, path: Path, keys: Keys) -> Ran:
    return place.run("sign", path, "--key", keys.private)


def standing(place: Place) -> list[tuple[str, str]]:
    """Who signed each record, and why it does not count."""
    zoo = find_zoo(place.root)
    records, findings = load_evidence(zoo, usable_recipe(zoo, "tiny"))
    assert findings == ()
    return [(each.signed_by, each.stale) for each in records]


def test_a_zoo_without_signers_counts_unsigned_evidence(place: Place) -> None:
    add_evidence(place, "replay", Outcome.PASSED)
    assert standing(place) == [("", "")]


def test_a_zoo_with_signers_counts_only_what_one_of_them_has_signed(
    place: Place, author: Keys, stranger: Keys
) -> None:
    trust(place, alice=author.public)
    path = add_evidence(place, "replay", Outcome.PASSED)
    assert standing(place) == [("", "it is not signed, and this zoo has signers")]
    assert sign(place, path, stranger).status == 0
    [(by, why)] = standing(place)
    assert by == ""
    assert why.startswith("its signature does not count: alice: Key mismatch")
    ran = sign(place, path, author)
    assert (ran.status, "replay-held-out.json.sig" in ran.out) == (0, True)
    assert standing(place) == [("alice", "")]


def test_a_signature_of_a_record_does_not_fit_another_one_or_a_changed_one(
    place: Place, author: Keys
) -> None:
    trust(place, alice=author.public)
    path = add_evidence(place, "replay", Outcome.PASSED)
    other = add_evidence(place, "reference", Outcome.PASSED)
    assert sign(place, path, author).status == 0
    shutil.copy(f"{path}.sig", f"{other}.sig")
    path.write_bytes(path.read_bytes().replace(b"18:01:00", b"18:02:00"))
    assert standing(place) == [("", "its signature is one over another file")] * 2


def test_a_gate_that_unsigned_evidence_passes_is_missing_where_the_zoo_has_signers(
    place: Place, author: Keys
) -> None:
    place.edit_recipe("gates: {}\n", "gates: {replay: {}}\n")
    path = add_evidence(place, "replay", Outcome.PASSED)
    trust(place, alice=author.public)
    ran = place.push()
    assert ran.status == 2
    assert "replay-held-out: it is not signed, and this zoo has signers" in ran.out + ran.err
    assert "zoo sign release/tiny/1.0.0/evidence/replay-held-out.json --key KEY" in ran.err
    assert sign(place, path, author).status == 0
    assert place.push("--unsigned").status == 0
    assert gates_of(place)["replay"]["outcome"] == "passed"


def test_the_card_says_who_signed_a_record_or_that_nobody_did(place: Place, author: Keys) -> None:
    path = add_evidence(place, "replay", Outcome.PASSED)
    assert place.push().status == 0
    unsigned = (place.published / "tiny/1.0.0/README.md").read_text()
    assert "Evidence is by the author, unsigned." in unsigned
    shutil.rmtree(place.published)
    shutil.rmtree(place.root / "release/tiny", ignore_errors=True)
    path = add_evidence(place, "replay", Outcome.PASSED)
    trust(place, alice=author.public)
    assert sign(place, path, author).status == 0
    assert place.push("--unsigned").status == 0
    card = (place.published / "tiny/1.0.0/README.md").read_text()
    assert "Evidence is signed by alice." in card
    assert "unsigned" not in card


def test_the_signers_of_a_zoo_are_trusted_without_a_key_on_the_command_line(
    place: Place, author: Keys, stranger: Keys
) -> None:
    trust(place, alice=author.public, bob=stranger.public)
    assert release_signed(place, author).status == 0
    verify = ("--zoo", place.root, "verify", "tiny@1.0.0", "--signature", "--deep")
    ran = place.run(*verify)
    assert (ran.status, "signature: tiny@1.0.0 by alice, 7 files" in ran.out) == (0, True)
    assert place.run(*verify, "--signer", "alice").status == 0
    ran = place.run(*verify, "--signer", "bob")
    assert (ran.status, "error P001" in ran.out) == (1, True)
    ran = place.run(*verify, "--signer", "carol")
    assert (ran.status, 'no signer "carol"' in ran.err, "alice, bob" in ran.err) == (2, True, True)


@pytest.mark.parametrize(
    "text",
    [
        "trust = 5",
        "[trust]",
        "[trust]\nsigners = []",
        "[trust]\nsigners = 5",
        "[trust]\nsigners = [5]",
        "[trust]\nsigners = [{name = 'a'}]",
        "[trust]\nsigners = [{name = 'a', key = 5}]",
        "[trust]\nsigners = [{name = '', key = 'a'}]",
        "[trust]\nsigners = [{name = 'a', identity = 'a@b.c'}]",
        "[trust]\nsigners = [{name = 'a', provider = 'https://b.c'}]",
        "[trust]\nsigners = [{name = 'a', identity = '', provider = 'https://b.c'}]",
        "[trust]\nsigners = [{name = 'a', identity = 'a@b.c', provider = ''}]",
        "[trust]\nsigners = [{name = 'a', key = 'a', identity = 'a@b.c', provider = 'https://b.c'}]",
        "[trust]\nsigners = [{name = 'a', key = 'a', more = 1}]",
        "[trust]\nsigners = [{name = 'a', key = 'a'}, {name = 'a', key = 'b'}]",
        "[trust]\nsigners = [{name = 'a', key = 'a'}]\nmore = 1",
    ],
)
def test_settings_that_would_protect_nothing_are_errors(tmp_path: Path, text: str) -> None:
    (tmp_path / "zoo.toml").write_text(text)
    with pytest.raises(SettingsError, match="setting trust is not a list of signers"):
        find_zoo(tmp_path)


def test_a_key_outside_of_the_zoo_or_behind_a_link_is_refused(place: Place, author: Keys) -> None:
    trust(place, alice=author.public)
    key = place.root / "keys" / "alice.pub"
    key.unlink()
    key.symlink_to(author.public)
    ran = place.run("--zoo", place.root, "verify", "tiny@1.0.0", "--signature")
    assert (ran.status, "is outside of the zoo, or a link" in ran.err) == (2, True)
    key.unlink()
    ran = place.run("--zoo", place.root, "verify", "tiny@1.0.0", "--signature")
    assert (ran.status, 'signer "alice": a key cannot be read' in ran.err) == (2, True)


def test_the_stock_verifier_accepts_the_signature_of_a_single_file(place: Place, author: Keys) -> None:
    from model_signing import verifying

    path = add_evidence(place, "replay", Outcome.PASSED)
    assert sign(place, path, author).status == 0
    stock = verifying.Config().use_elliptic_key_verifier(public_key=author.public)
    stock.verify(path, path.with_name(path.name + ".sig"))
