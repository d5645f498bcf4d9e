"""Rows of the card that depend on the family, and what it says of a profile that cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import tiny_drafts
from tests.corpus import beside, families, kit
from zoo.card.claims import value_text
from zoo.card.render import render_card
from zoo.recipe.load import usable_recipe
from zoo.workspace import find_zoo

LATENT = {
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 4,
    "v_head_dim": 12,
}


def card(root: Path, name: str, **config: object) -> str:
    """The card of the tiny draft of a family, adopted, with more keys in its config."""
    whole = tiny_drafts.CONFIGS[name] | config
    whole = {key: value for key, value in whole.items() if value is not None or key == "q_lora_rank"}
    specs = tiny_drafts.inventory(name, whole)
    tiny_drafts.write_draft(root / "draft", whole, tiny_drafts.tensors(specs))
    tiny_drafts.recipe_of(root / "draft", root / "zoo", "mine")
    zoo = find_zoo(root / "zoo")
    return render_card(zoo, usable_recipe(zoo, "mine"))


def row(text: str, name: str) -> str | None:
    start = f"| {name} | "
    return next((line.removeprefix(start) for line in text.splitlines() if line.startswith(start)), None)


def test_a_reduced_vocabulary_has_a_row_and_maps_are_no_parameters(tmp_path: Path) -> None:
    text = card(tmp_path, "eagle3")
    assert row(text, "Draft vocabulary") == "128 of 256 tokens |"
    specs = tiny_drafts.inventory("eagle3")
    count = sum(spec.elements for name, spec in specs.items() if name not in ("d2t", "t2d"))
    assert f"{len(specs)} tensors, bf16, {count:,} parameters" in (row(text, "Weights") or "")
    assert row(card(tmp_path / "dflash", "dflash"), "Draft vocabulary") is None


def test_latent_attention_shows_its_ranks_and_no_size_that_the_config_lacks(tmp_path: Path) -> None:
    text = card(tmp_path, "eagle3", architectures=["Eagle3DeepseekV2ForCausalLM"], head_dim=None, **LATENT)
    assert row(text, "Attention") == (
        "4 heads, latent (MLA): q_lora_rank 24, kv_lora_rank 16, qk_nope_head_dim 12, qk_rope_head_dim 4, "
        "v_head_dim 12 |"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1000000.0, "1000000"),
        (1000000, "1000000"),
        (50000.0, "50000"),
        (1e-05, "1e-5"),
        (2.47, "2.47"),
        (1e16, "1e+16"),
    ],
)
def test_a_whole_number_is_printed_in_full(value: float, shown: str) -> None:
    assert value_text(value) == shown


def test_a_command_that_does_not_start_the_draft_says_so(tmp_path: Path) -> None:
    text = card(tmp_path, "peagle")
    assert "**vLLM 0.33.0 does not start with this draft: it does not know the architecture" in text
    assert "does not start" not in card(tmp_path / "eagle3", "eagle3")


def test_a_command_that_serves_half_of_the_draft_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    draft = families.domino("DFlashDraftModel")
    families.write(folder, draft)
    families.recipe(folder, draft)
    kit.edit_profile(folder, "sglang==0.5.23", "sglang==0.5.14")
    zoo = find_zoo(tmp_path)
    text = render_card(zoo, usable_recipe(zoo, "draft"))
    assert "**SGLang 0.5.14 ignores 4 tensors of this draft.**" in text


def test_disjoint_from_says_what_was_compared(tmp_path: Path) -> None:
    folder = tmp_path / "draft"
    kit.good_draft(folder)
    kit.good_recipe(folder)
    own = beside.data_manifest(folder, "traffic", beside.HASHES[:5])
    apart = beside.data_manifest(folder, "apart", beside.HASHES[5:])
    shared = beside.data_manifest(folder, "shared", beside.HASHES[3:6])
    entries = [
        {"name": "Apart", "manifest": apart},
        {"name": "Shared", "manifest": shared},
        "a private set",
    ]
    beside.training_data(folder, manifest=own, disjoint_from=entries)
    zoo = find_zoo(tmp_path)
    assert row(render_card(zoo, usable_recipe(zoo, "draft")), "Disjoint from") == (
        "Apart (compared: no conversations in common), Shared (compared: 2 conversations in common), "
        "a private set (by the author, not compared) |"
    )
