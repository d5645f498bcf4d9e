"""Broken copies: each differs from the served copy in the one place that its name says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.kit import good_draft, load, sharded_draft
from tests.tiny_drafts import CONFIGS, write_tiny
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.model import Checkpoint
from zoo.smoke.controls import CONTROLS, ControlNotPossibleError, broken_copy

AUX = [1, 2]


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    good_draft(tmp_path / "draft", dflash_config={"target_layer_ids": AUX, "mask_token_id": 4})
    return tmp_path / "draft"


def opened(folder: Path) -> Checkpoint:
    return open_checkpoint(folder, str(folder))


@contextmanager
def broken(folder: Path, control: str, **options: Any) -> Iterator[Path]:
    with broken_copy(opened(folder), control, under=folder.parent, **options) as copy:
        yield copy
    assert not list(folder.parent.glob("zoo-draft-*"))


def config_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return document


def data(folder: Path) -> dict[str, bytes]:
    """The bytes of every tensor of the folder."""
    held: dict[str, bytes] = {}
    for file in folder.glob("*.safetensors"):
        header, raw = load(file)
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                held[name] = raw[begin:end]
    return held


def test_zero_fc_zeroes_fc_and_nothing_else(draft: Path) -> None:
    healthy = data(draft)
    with broken(draft, "zero-fc") as copy:
        made = data(copy)
        assert not any(made.pop("fc.weight"))
        assert any(healthy.pop("fc.weight"))
        assert made == healthy
        assert config_of(copy) == config_of(draft)
        assert opened(copy).findings == ()


def test_drop_q_removes_every_q_proj(draft: Path) -> None:
    healthy = data(draft)
    with broken(draft, "drop-q") as copy:
        made = data(copy)
        assert set(healthy) - set(made) == {name for name in healthy if name.endswith(".q_proj.weight")}
        assert all(made[name] == healthy[name] for name in made)


def test_prefix_renames_every_tensor(draft: Path) -> None:
    with broken(draft, "prefix") as copy:
        assert data(copy) == {f"draft.{name}": held for name, held in data(draft).items()}


def test_mask_token_takes_its_text_away_which_would_contradict_the_id(tmp_path: Path) -> None:
    own = {"target_layer_ids": AUX, "mask_token_id": 4, "mask_token": "<mask>"}
    good_draft(tmp_path / "draft", dflash_config=own)
    with broken(tmp_path / "draft", "mask-token") as copy:
        assert config_of(copy)["dflash_config"] == {"target_layer_ids": AUX, "mask_token_id": 17}


def test_mask_token_writes_another_id_where_the_config_states_it(draft: Path) -> None:
    with broken(draft, "mask-token") as copy:
        assert config_of(copy)["dflash_config"]["mask_token_id"] == 17
        assert (copy / "model.safetensors").samefile(draft / "model.safetensors")
    with broken(draft, "mask-token", mask_token=9) as copy:
        assert config_of(copy)["dflash_config"] == {"target_layer_ids": AUX, "mask_token_id": 9}


@pytest.mark.parametrize(("control", "ids"), [("aux+1", [2, 3]), ("aux-1", [0, 1])])
def test_aux_moves_every_layer(draft: Path, control: str, ids: list[int]) -> None:
    with broken(draft, control) as copy:
        assert config_of(copy) == {
            **config_of(draft),
            "dflash_config": {"target_layer_ids": ids, "mask_token_id": 4},
        }


def test_a_value_that_stands_in_two_places_changes_in_both(tmp_path: Path) -> None:
    own = {"target_layer_ids": AUX, "mask_token_id": 4}
    good_draft(tmp_path / "draft", target_layer_ids=AUX, mask_token_id=4, dflash_config=own)
    with broken(tmp_path / "draft", "aux+1") as copy:
        assert config_of(copy)["target_layer_ids"] == [2, 3]
        assert config_of(copy)["dflash_config"]["target_layer_ids"] == [2, 3]
    with broken(tmp_path / "draft", "mask-token") as copy:
        assert config_of(copy)["mask_token_id"] == config_of(copy)["dflash_config"]["mask_token_id"] == 17


@pytest.mark.parametrize("control", ["zero-fc", "drop-q", "prefix"])
def test_shards_are_broken_with_their_index(control: str, tmp_path: Path) -> None:
    sharded_draft(tmp_path / "draft")
    with broken(tmp_path / "draft", control) as copy:
        assert opened(copy).findings == ()
        assert (copy / "model.safetensors.index.json").exists()


def test_what_is_not_served_is_not_in_the_broken_copy(draft: Path) -> None:
    (draft / "report.pdf").write_bytes(b"%PDF")
    for control in CONTROLS:
        with broken(draft, control) as copy:
            assert sorted(path.name for path in copy.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("family", sorted(CONFIGS))
@pytest.mark.parametrize("control", ["zero-fc", "drop-q", "prefix"])
def test_every_family_can_be_broken(family: str, control: str, tmp_path: Path) -> None:
    write_tiny(tmp_path / "draft", family)
    with broken(tmp_path / "draft", control) as copy:
        assert data(copy) != data(tmp_path / "draft")


@pytest.mark.parametrize(
    ("control", "options", "why"),
    [
        ("aux-1", {}, "the target has no layer -1"),
        ("aux+1", {}, "the target has no layer 4"),
        ("mask-token", {"mask_token": 4}, "4 is its mask token"),
        ("mask-token", {"mask_token": 256}, "256 is outside its vocabulary of 256"),
    ],
)
def test_a_copy_that_an_engine_would_refuse_or_that_is_healthy_is_not_made(
    control: str, options: dict[str, int], why: str, tmp_path: Path
) -> None:
    good_draft(tmp_path / "draft", dflash_config={"target_layer_ids": [0, 3], "mask_token_id": 4})
    with pytest.raises(ControlNotPossibleError, match=why), broken(tmp_path / "draft", control, **options):
        pass


def test_a_draft_without_the_part_cannot_be_broken_there(tmp_path: Path) -> None:
    write_tiny(tmp_path / "draft", "eagle3")
    with (
        pytest.raises(ControlNotPossibleError, match="states no mask_token_id") as error,
        broken(tmp_path / "draft", "mask-token"),
    ):
        pass
    assert "zero-fc" in error.value.hint


def test_eagle3_moves_its_own_key(tmp_path: Path) -> None:
    write_tiny(tmp_path / "draft", "eagle3")
    with broken(tmp_path / "draft", "aux+1") as copy:
        assert config_of(copy)["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [1, 2, 3]
