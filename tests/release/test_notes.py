"""The notes of a release: what changed since the version before, and from what that is known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.release.conftest import Place
from tests.release.hub_place import HubPlace, hub, on_hub, proxied  # noqa: F401
from tests.release.hub_proxy import Proxy
from zoo.evidence import Engine, Evidence, Result, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.release.changes import numbers
from zoo.release.record import manifest_of
from zoo.results import Outcome
from zoo.workspace import find_zoo


def other_draft(place: Place) -> None:
    """Version 1.1.0: another theta, one layer less, and a header that says so."""
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    place.edit_recipe("theta: 10000", "theta: 20000")
    place.edit_recipe("  layers: 2", "  layers: 1")
    place.edit_recipe("tensors: 25", "tensors: 14")
    place.edit_recipe("layer_types: [full_attention, full_attention]", "layer_types: [full_attention]")
    from tests.release.tiny_zoo import make_checkpoint

    shutil.rmtree(place.checkpoint)
    make_checkpoint(place.root, place.checkpoint)


def notes(place: Place, version: str = "1.1.0") -> str:
    return (place.root / "release" / "tiny" / version / "notes.md").read_text()


def test_config_and_tensors_are_compared_with_the_version_before(place: Place) -> None:
    assert place.push().status == 0
    other_draft(place)
    ran = place.push()
    assert ran.status == 0, ran.err
    text = notes(place)
    assert "by the headers of the folder that it was published to:" in text
    assert "- config `num_hidden_layers`: `1` (was `2`; that engines read)" in text
    assert "- config `rope.theta`: `20000" in text
    assert text.count("removed (was BF16") == 11
    assert "- tensor `layers.1.mlp.down_proj.weight`: removed (was BF16 \\[64, 96\\])" in text
    assert "- `model.safetensors`: changed, sha256" in text
    assert str(place.root) not in text


def test_the_same_draft_under_another_version_says_that_nothing_changed(place: Place) -> None:
    assert place.push().status == 0
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert place.push().status == 0
    text = notes(place)
    assert "- no difference: the same keys, names, shapes and dtypes" in text
    assert "- `model.safetensors`: unchanged" in text


def test_a_target_that_moved_is_named(place: Place) -> None:
    assert place.push().status == 0
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    target = place.root / "recipes" / "targets" / "tiny-target.yaml"
    before = "0123456789abcdef0123456789abcdef01234567"
    target.write_text(target.read_text().replace(before, "f" * 40))
    assert place.push().status == 0
    assert f'- target revision: `"{"f" * 40}"` (was `"{before}"`)' in notes(place)


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_without_the_files_of_the_version_before_the_digests_remain(place: Place, how: str) -> None:
    assert place.push().status == 0
    folder = place.published / "tiny" / "1.0.0"
    if how == "gone":
        shutil.rmtree(folder)
        why = "the place that it was published to does not have it here."
    else:
        config = folder / "config.json"
        config.chmod(0o644)
        config.write_bytes(config.read_bytes() + b"\n")
        why = "what lies there is not what its manifest says."
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    ran = place.push()
    assert ran.status == 0, ran.err
    text = notes(place)
    assert f"Config and tensors were not compared with 1.0.0: {why}" in text
    assert "The digests above are those of the manifests." in text
    assert "- `config.json`: unchanged" in text
    assert str(place.root) not in text


def test_on_a_hub_headers_are_read_by_range_at_the_commit_of_the_version(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    assert on_hub.push().status == 0
    commit = on_hub.tags["v1.0.0"]
    other_draft(on_hub.place)
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    text = notes(on_hub.place)
    assert f"by the headers of {on_hub.repo} at commit {commit}:" in text
    assert text.count("removed (was BF16") == 11
    assert any(f"/resolve/{commit}/model.safetensors" in request for request in proxy.requests)
    assert on_hub.hub.url not in text


def test_a_hub_that_this_release_does_not_go_to_is_not_contacted(
    on_hub: HubPlace,  # noqa: F811
) -> None:
    assert on_hub.push().status == 0
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    on_hub.hub.log()
    before = on_hub.hub.log()
    assert on_hub.place.push("--to", "dir:published").status == 0
    assert on_hub.hub.log() == before
    assert "it was published on another hub than this version." in notes(on_hub.place)


def record(place: Place, version: str, length: float, **inputs: str) -> Evidence:
    """A record of a replay beside ``version``, bound to its checkpoint as far as notes look."""
    zoo = find_zoo(place.root)
    manifest = manifest_of(zoo, "tiny", version)
    digest = manifest.document["checkpoint_digest"] if manifest else "0" * 64
    made = Evidence(
        kind="reference",
        subject="held-out",
        checkpoint_digest=digest,
        basis_digest="1" * 64,
        target={"repo": "zoo-tests/tiny-target", "revision": "0123456789" * 4},
        inputs={"sha256": "2" * 64, "about": "prompts", "count": 3} | inputs,
        settings={"max_new_tokens": 8},
        engine=Engine("reference", "2.13.0", ("python", "x.py")),
        host={"gpus": [], "cpu": "x86_64"},
        tool="draft-zoo 0.1.0",
        started="2026-11-30T18:00:00Z",
        ended="2026-11-30T18:01:00Z",
        results=(
            Result(
                "chat-t0",
                Outcome.PASSED,
                "",
                {"domain": "chat", "temperature": 0, "accept_length": length},
            ),
        ),
    )
    folder = zoo.release_folder("tiny", version) / "evidence"
    folder.mkdir(parents=True, exist_ok=True)
    write_evidence(folder / "reference-held-out.json", made)
    return made


def test_numbers_come_with_their_evidence_and_only_like_is_set_beside_like(place: Place) -> None:
    assert place.push().status == 0
    record(place, "1.0.0", 2.5)
    zoo = find_zoo(place.root)
    before = manifest_of(zoo, "tiny", "1.0.0")
    [number] = numbers(zoo, "tiny", (record(place, "1.1.0", 3.0),), before)
    assert number.what == "chat-t0, domain chat, temperature 0"
    assert (number.accept_length, number.before, number.record) == (3.0, 2.5, "reference-held-out")
    [other] = numbers(zoo, "tiny", (record(place, "1.1.0", 3.0, sha256="3" * 64),), before)
    assert other.before is None
    [first] = numbers(zoo, "tiny", (record(place, "1.1.0", 3.0),), None)
    assert first.before is None


def test_the_notes_of_a_release_name_the_record_of_each_number(place: Place) -> None:
    from zoo.digests import basis_digest
    from zoo.evidence import basis_of

    assert place.push().status == 0
    zoo, recipe = find_zoo(place.root), usable_recipe(find_zoo(place.root), "tiny")
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    made = record(place, "1.0.0", 2.5)
    folder = zoo.release_folder("tiny", "1.1.0") / "evidence"
    folder.mkdir(parents=True)
    data = made.as_json()
    basis = basis_of(recipe, made.kind, made.subject, made.inputs)
    assert basis is not None
    data["basis_digest"] = basis_digest(recipe, basis, made.checkpoint_digest, made.settings)
    data["results"][0]["measured"]["accept_length"] = 3.0
    (folder / "reference-held-out.json").write_text(json.dumps(data))
    ran = place.push()
    assert ran.status == 0, ran.err
    assert (
        "- chat-t0, domain chat, temperature 0: 3.00 (was 2.50, measured alike); "
        "evidence `reference-held-out`"
    ) in notes(place)


def test_notes_are_the_same_wherever_the_release_is_made(place: Place, tmp_path: Path) -> None:
    assert place.push().status == 0
    other_draft(place)
    twin = tmp_path / "twin"
    shutil.copytree(place.root, twin)
    assert place.push().status == 0
    assert Place(twin, place.run).push().status == 0
    assert notes(place) == notes(Place(twin, place.run))


def test_trouble_with_the_very_hub_stops_the_release_and_other_trouble_does_not(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    assert on_hub.push().status == 0
    commit = on_hub.tags["v1.0.0"]
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    proxy.break_once(f"/resolve/{commit}/model.safetensors", "500 before", times=1000)
    ran = on_hub.push("--timeout", "3")
    assert ran.status == 2, ran.out + ran.err
    assert "v1.1.0" not in on_hub.tags
    proxy.break_once(f"/resolve/{commit}/model.safetensors", "403")
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    assert "the notes do not compare with 1.0.0" in ran.err
    assert "were not compared with 1.0.0: its files could not be read." in notes(on_hub.place)
