"""What differs at header level: config keys as an engine sees them, tensors, files, recipes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.corpus.kit import WEIGHTS, Tensor, config, draft_tensors, edit_config, good_draft, save
from tests.release.conftest import Place
from tests.remote.hub import COMMIT, REPO, Server
from zoo.diff.model import ABSENT, ConfigChange, Diff, Side
from zoo.diff.values import changes, same
from zoo.schemas import validator

Run = Callable[..., Ran]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same draft."""
    good_draft(tmp_path / "a")
    good_draft(tmp_path / "b")
    return tmp_path / "a", tmp_path / "b"


@pytest.fixture
def diff(run_zoo: Run) -> Callable[..., dict[str, Any]]:
    """Run ``zoo diff ARGS --format json``: the document, which the schema allows and whose exit is true."""

    def run(*args: str | Path) -> dict[str, Any]:
        ran = run_zoo("diff", *args, "--format", "json")
        document: dict[str, Any] = json.loads(ran.out)
        validator("zoo-diff-1").validate(document)
        assert document["exit"] == ran.status
        return document

    return run


Diffs = Callable[..., dict[str, Any]]


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    save(folder / WEIGHTS, change(draft_tensors()), {"format": "pt"})


def test_a_folder_does_not_differ_from_its_copy(diff: Diffs, pair: tuple[Path, Path]) -> None:
    found = diff(*pair)
    assert (found["exit"], found["differences"]) == (0, 0)
    assert found["files"]["same"] == ["config.json"]
    assert found["files"]["not_compared"] == [WEIGHTS]


def test_what_an_engine_reads_is_told_from_what_none_reads(diff: Diffs, pair: tuple[Path, Path]) -> None:
    edit_config(pair[1], block_size=16, author="somebody")
    found = {each["key"]: each for each in diff(*pair)["config"]}
    assert found["block_size"]["read"] is True
    assert (found["block_size"]["a"], found["block_size"]["b"]) == (8, 16)
    assert found["author"]["read"] is False
    assert "a" not in found["author"]
    assert found.keys() == {"block_size", "author"}


def test_a_key_at_another_place_is_the_same_value(diff: Diffs, pair: tuple[Path, Path]) -> None:
    edit_config(pair[1], rope_theta=None, rope_parameters={"rope_theta": 10000, "rope_type": "default"})
    found = diff(*pair)["config"]
    assert [(each["key"], each["moved"], each["pointer_b"]) for each in found] == [
        ("rope.theta", True, "/rope_parameters/rope_theta"),
        ("rope.type", True, "/rope_parameters/rope_type"),
    ]


def test_the_layout_of_speculators_is_compared_by_its_meaning(diff: Diffs, pair: tuple[Path, Path]) -> None:
    flat = config()
    own = (
        "architectures",
        "dtype",
        "tie_word_embeddings",
        "block_size",
        "num_target_layers",
        "dflash_config",
    )
    nested = {key: flat[key] for key in own if key != "dflash_config"}
    nested |= {
        "speculators_model_type": "dflash",
        "aux_hidden_state_layer_ids": [1, 2, 3],
        "mask_token_id": 5,
    }
    nested["transformer_layer_config"] = {key: value for key, value in flat.items() if key not in own}
    (pair[1] / "config.json").write_text(json.dumps(nested))
    found = {each["key"]: each for each in diff(*pair)["config"]}
    assert found["target_layer_ids"]["moved"]  # [0, 1, 2], counted otherwise
    assert found["target_layer_ids"]["pointer_b"] == "/aux_hidden_state_layer_ids"
    assert (found["mask_token_id"]["a"], found["mask_token_id"]["b"]) == (4, 5)
    assert {key for key, each in found.items() if not each["moved"]} == {
        "mask_token_id",
        "speculators_model_type",
    }


def test_a_null_is_not_an_absent_key(diff: Diffs, pair: tuple[Path, Path]) -> None:
    whole = config() | {"sliding_window": None}
    (pair[1] / "config.json").write_text(json.dumps(whole))
    (change,) = diff(*pair)["config"]
    assert change["pointer_b"] == "/sliding_window"
    assert change["b"] is None
    assert "a" not in change


def test_tensors_are_compared_by_name_shape_and_dtype(diff: Diffs, pair: tuple[Path, Path]) -> None:
    def change(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        del tensors["hidden_norm.weight"]
        return tensors | {
            "norm.weight": ("F32", (64,), bytes(256)),
            "fc.weight": ("BF16", (64, 64), bytes(64 * 64 * 2)),
            "extra.bias": ("BF16", (2,), bytes(4)),
        }

    rewrite(pair[1], change)
    found = diff(*pair)["inventory"]
    assert set(found["only_a"]) == {"hidden_norm.weight"}
    assert found["only_b"] == {"extra.bias": {"dtype": "BF16", "shape": [2], "bytes": 4}}
    assert [each["name_a"] for each in found["reshaped"]] == ["fc.weight"]
    assert [each["b"]["dtype"] for each in found["recast"]] == ["F32"]
    assert found["in_both"] == 24


@pytest.mark.parametrize("swap", [False, True])
def test_foreign_names_are_recognised_from_either_side(
    diff: Diffs, pair: tuple[Path, Path], swap: bool
) -> None:
    def foreign(name: str) -> str:
        return (
            f"model.{name.replace('layers.0.', 'midlayer.')}" if name != "fc.weight" else "encoder.fc.weight"
        )

    rewrite(pair[1], lambda tensors: {foreign(name): tensor for name, tensor in tensors.items()})
    found = diff(*(reversed(pair) if swap else pair))["inventory"]
    assert (found["only_a"], found["only_b"], found["in_both"]) == ({}, {}, 25)
    names = {(each["name_a"], each["name_b"])[:: -1 if swap else 1] for each in found["renamed"]}
    assert names == {(name, foreign(name)) for name in draft_tensors()}


def test_files_of_one_side_and_other_sizes_and_digests(diff: Diffs, pair: tuple[Path, Path]) -> None:
    (pair[0] / "README.md").write_text("one")
    (pair[1] / "README.md").write_text("two")
    (pair[1] / "tokenizer.json").write_text("{}")
    found = {each["path"]: each for each in diff(*pair)["files"]["changed"]}
    assert found["README.md"]["a"]["origin"] == "read"
    assert found["tokenizer.json"]["a"] is None
    assert found.keys() == {"README.md", "tokenizer.json"}


def test_metadata_of_the_headers_is_compared(diff: Diffs, pair: tuple[Path, Path]) -> None:
    save(pair[1] / WEIGHTS, draft_tensors(), {"format": "pt", "made by": "a test"})
    assert diff(*pair)["inventory"]["metadata"] == [{"pointer": "/made by", "b": "a test"}]


def test_weights_that_cannot_be_read_are_not_called_the_same(diff: Diffs, pair: tuple[Path, Path]) -> None:
    for folder in pair:
        (folder / WEIGHTS).write_bytes(b"not weights")
    found = diff(*pair)
    assert found["exit"] == 2
    assert [(each["part"], each["required"]) for each in found["not_compared"]] == [("inventory", True)] * 2


def test_a_config_that_cannot_be_read_is_not_called_the_same(diff: Diffs, pair: tuple[Path, Path]) -> None:
    for folder in pair:
        (folder / "config.json").write_text("{")
    found = diff(*pair)
    assert found["exit"] == 2
    assert {each["part"] for each in found["not_compared"]} == {"config"}
    for folder in pair:
        (folder / "config.json").unlink()
    assert diff(*pair)["exit"] == 0  # neither has one


def test_two_recipes_are_compared_by_pointer_with_target_and_profiles(diff: Diffs, place: Place) -> None:
    text = (place.root / "recipes" / "tiny.yaml").read_text()
    other = text.replace("name: tiny\n", "name: other\n").replace("block_size: 4", "block_size: 8")
    (place.root / "recipes" / "other.yaml").write_text(other.replace("./checkpoint", "./nowhere"))
    found = diff_in(diff, place, "tiny", "other")
    assert {each["pointer"] for each in found["recipe"]} == {
        "/name",
        "/checkpoint/source",
        "/draft/block_size",
    }
    # The files of the other are nowhere: what the recipe says of them is compared, and nothing of the files.
    assert found["b"]["implied"]
    # Nor is it a difference where a value stands in the file, or that nobody described a header's metadata.
    assert [each["key"] for each in found["config"]] == ["block_size"]
    assert (found["inventory"]["in_both"], found["inventory"]["metadata"]) == (25, [])
    assert found["files"] is None


def diff_in(diff: Diffs, place: Place, *args: str) -> dict[str, Any]:
    """``zoo diff`` in the zoo of ``place``."""
    document: dict[str, Any] = json.loads(
        place.run("--zoo", place.root, "diff", *args, "--format", "json").out
    )
    validator("zoo-diff-1").validate(document)
    return document


def test_a_release_is_compared_by_its_manifest_and_its_files(diff: Diffs, place: Place) -> None:
    assert place.push().status == 0
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    (place.checkpoint / "report.pdf").write_bytes(b"%PDF-1.4 another report")
    assert place.push().status == 0
    found = diff_in(diff, place, "tiny@1.0.0", "tiny@1.1.0")
    assert {each["pointer"] for each in found["recipe"]} == {"/version", "/recipe_digest"}
    written = {"README.md", "notes.md", "provenance.intoto.jsonl"}
    assert {each["path"] for each in found["files"]["changed"]} == {*written, "report.pdf"}
    assert {each["a"]["origin"] for each in found["files"]["changed"]} == {"manifest"}
    assert found["files"]["same"] == ["config.json", WEIGHTS]
    assert diff_in(diff, place, "tiny@1.1.0", "tiny", "--deep")["exit"] == 0


def test_a_release_whose_bytes_are_gone_is_compared_by_its_manifest(diff: Diffs, place: Place) -> None:
    assert place.push().status == 0
    place.published.rename(place.root / "elsewhere")
    found = diff_in(diff, place, "tiny@1.0.0", "tiny")
    assert found["exit"] == 2
    assert found["recipe"] == []
    assert {each["part"] for each in found["not_compared"]} == {"config", "inventory"}
    assert "does not hold it any more" in found["not_compared"][0]["reason"]


def test_a_folder_of_another_release_is_not_taken_for_it(diff: Diffs, place: Place) -> None:
    assert place.push().status == 0
    manifest = place.published / "tiny" / "1.0.0" / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_text(manifest.read_text().replace('"standin": false', '"standin": true'))
    found = diff_in(diff, place, "tiny@1.0.0", "tiny")
    assert "holds another release" in found["not_compared"][0]["reason"]


def test_a_record_that_was_edited_is_refused(place: Place) -> None:
    assert place.push().status == 0
    manifest = place.root / "release" / "tiny" / "1.0.0" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("zoo-tests/tiny", "zoo-tests/evil"))
    ran = place.run("--zoo", place.root, "diff", "tiny@1.0.0", "tiny")
    assert (ran.status, ran.out) == (2, "")
    assert "is not what was published as tiny 1.0.0" in ran.err
    assert place.run("--zoo", place.root, "pull", "tiny@1.0.0", "--out", "got").status == 2


def test_a_recipe_that_cannot_be_used_is_not_a_difference(place: Place) -> None:
    place.edit_recipe("layers: 2", "layers: two")
    ran = place.run("--zoo", place.root, "diff", "tiny", "tiny")
    assert (ran.status, ran.out) == (2, "")
    assert "recipes/tiny.yaml:" in ran.err


def test_an_altered_folder_is_not_taken_for_the_release(place: Place) -> None:
    assert place.push().status == 0
    (place.published / "tiny" / "1.0.0" / "config.json").chmod(0o644)
    edit_config(place.published / "tiny" / "1.0.0", block_size=16)
    ran = place.run("--zoo", place.root, "diff", "tiny@1.0.0", "tiny")
    assert (ran.status, ran.out) == (2, "")
    assert '"config.json"' in ran.err


def test_a_repository_is_compared_by_its_headers_alone(
    run_zoo: Run, hub: Server, storage: Server, draft: Path, diff: Diffs
) -> None:
    found = diff(f"hf://{REPO}@v1.0.0", draft, "--endpoint", hub.url)
    assert found["exit"] == 0
    assert found["a"]["revision"] == COMMIT
    assert found["files"]["same"] == ["config.json"]
    weights = [seen for seen in (*hub.seen, *storage.seen) if seen.name == WEIGHTS]
    assert len(weights) == 2
    assert hub.sent + storage.sent < 120_000


def test_two_revisions_of_a_repository_need_no_weights(hub: Server, storage: Server, diff: Diffs) -> None:
    found = diff(f"hf://{REPO}@v1.0.0", f"hf://{REPO}@main", "--endpoint", hub.url)
    assert found["exit"] == 0
    assert found["files"]["same"] == ["config.json", WEIGHTS]  # the hub states the sha256 of both
    assert hub.sent + storage.sent < 250_000


def test_a_server_that_cannot_list_is_not_said_to_lack_files(site: Server, draft: Path, diff: Diffs) -> None:
    (draft / "README.md").write_text("a card")
    found = diff(site.url, draft)
    assert found["exit"] == 0
    assert "1 of the other side" in found["not_compared"][0]["reason"]
    assert not found["not_compared"][0]["required"]


def test_an_unreachable_source_is_exit_2_and_one_line(run_zoo: Run, hub: Server, draft: Path) -> None:
    ran = run_zoo("diff", "hf://zoo-tests/nothing", draft, "--endpoint", hub.url)
    assert (ran.status, ran.out) == (2, "")
    assert "no such repository" in ran.err


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (float("nan"), float("nan"), True),
        ([1], [1, 2], False),
    ],
)
def test_values_are_the_same_if_json_means_the_same(a: Any, b: Any, alike: bool) -> None:
    assert same(a, b) is alike
    assert same({"x": [a]}, {"x": [b]}) is alike
    assert (not list(changes({"x": a}, {"x": b}))) is alike


def test_pointers_are_escaped() -> None:
    (change,) = changes({"a/b": {"~": 1}}, {"a/b": {}})
    assert (change.pointer, change.a, change.b) == ("/a~1b/~0", 1, ABSENT)


def test_what_is_not_required_does_not_decide() -> None:
    side = Side("x", "source")
    change = ConfigChange("k", None, None, 1, 2, None)
    nothing = Diff(side, side, "header", None, None, None, None, None, ())
    assert nothing.exit_status == 0
    assert Diff(side, side, "header", None, (change,), None, None, None, ()).exit_status == 1
