"""No mutation that contradicts the recipe of a draft escapes: over 5,000 of them, over all families."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.mutations.drafts import VARIANTS, Draft, Variant
from tests.mutations.judge import Answer, Judge
from tests.mutations.keys import ADDED_TO
from tests.mutations.measure import COUNT, FLAGGED, chosen, outcomes, row
from tests.mutations.mutate import KINDS, mutations
from tests.mutations.run import PAGE
from tests.mutations.visible import UNSEEN, excuse
from zoo.drafts.keys import DIFFUSION, EAGLE, Keys


@cache
def kinds_and_excuses(name: str) -> list[tuple[str, str | None]]:
    """The kind of each mutation of a draft, and why it is no contradiction: comparing takes long."""
    variant = VARIANTS[name]
    return [(mutation.kind, excuse(variant, mutation.draft)) for mutation in chosen(variant)]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_contradiction_is_flagged(tmp_path: Path, name: str) -> None:
    variant = VARIANTS[name]
    judge = Judge(variant, tmp_path)
    escaped = []
    judged = zip(chosen(variant), kinds_and_excuses(name), strict=True)
    for number, (mutation, (_, reason)) in enumerate(judged):
        answer = judge.with_recipe(mutation.draft)
        if reason is None and answer not in FLAGGED:
            escaped.append(f"{mutation.kind}: {mutation.words}: {answer}")
        if reason == UNSEEN:
            assert answer is Answer.NOTHING, mutation.words
        if number % 40 == 0:
            judge.check_against_verify(mutation.draft)
    assert not escaped


def test_there_are_enough_of_every_kind() -> None:
    made = [
        (variant.family, *each) for variant in VARIANTS.values() for each in kinds_and_excuses(variant.name)
    ]
    assert len(made) == COUNT >= 5000
    families = {variant.family for variant in VARIANTS.values()}
    contradict = {(family, kind) for family, kind, reason in made if not reason}
    assert contradict == {(family, kind) for family in families for kind in KINDS if kind != "order"}


def test_a_seed_gives_the_same_mutations() -> None:
    variant = VARIANTS["dspark"]
    assert mutations(variant, 3, 200) == mutations(variant, 3, 200)
    assert mutations(variant, 3, 200) != mutations(variant, 4, 200)


def test_the_page_has_the_figures_of_its_seed() -> None:
    """How many of each draft, how many contradict, and that none escapes; of one draft, every answer.
    Where it fails: python -m tests.mutations.run --write."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for variant in VARIANTS.values():
        excused = [reason for _, reason in kinds_and_excuses(variant.name)]
        contradict = excused.count(None)
        row_begins = f"| {variant.name} | {len(excused)} | {len(excused) - contradict} | {contradict} | "
        assert any(line.startswith(f"{row_begins}{contradict} | 0 | 0 | ") for line in lines), row_begins
    smallest = VARIANTS["peagle"]
    said = " | ".join(f"{figure:,}" for figure in row(list(outcomes([smallest]))))
    assert f"| {smallest.name} | {said} |" in lines


@pytest.mark.parametrize("keys", [DIFFUSION, EAGLE], ids=lambda keys: keys.own)
def test_the_tool_knows_every_key_that_is_added(keys: Keys) -> None:
    for block, added in ADDED_TO[keys.own].items():
        stated = keys.stated({block: dict.fromkeys(added, 1)} if block else dict.fromkeys(added, 1))
        assert not [key for key in stated if not keys.is_read(key)]


def draft(variant: Variant, **config: object) -> Draft:
    return Draft({**variant.draft.config, **config}, variant.draft.tensors, whole=variant.draft.whole)


@pytest.mark.parametrize(
    ("name", "config", "reason"),
    [
        ("dflash", {}, UNSEEN),
        ("dflash", {"rope_theta": 10000}, "32 or 32.0"),
        ("dflash", {"rope_theta": 10001}, None),
        ("dflash", {"block_size": 8.0}, None),
        ("dflash", {"sliding_window": None}, "null for absent"),
        ("dflash", {"sliding_window": 32}, None),
        ("dflash", {"use_cache": True}, "a key that nobody reads"),
        ("dflash", {"mask_token_id": 4}, "in another place that engines look"),
        ("dflash", {"mask_token_id": 5}, None),
        ("dflash", {"rope_parameters": {"rope_theta": 10000.0}}, "another layout of the same rope"),
        ("dflash", {"rope_parameters": {"rope_theta": 5.0}}, None),
        ("eagle3", {"layer_types": None}, "null for absent"),
        ("eagle3", {"eagle_config": {}, "eagle_aux_hidden_state_layer_ids": [0, 1, 2]}, None),
    ],
)
def test_what_is_excused(name: str, config: dict[str, object], reason: str | None) -> None:
    assert excuse(VARIANTS[name], draft(VARIANTS[name], **config)) == reason


def test_layer_0_has_two_names_in_eagle3_only() -> None:
    for name, reason in (("eagle3", "midlayer. or layers.0."), ("peagle", None)):
        variant = VARIANTS[name]
        swapped = {"layers.0.": "midlayer.", "midlayer.": "layers.0."}
        old = next(
            prefix for prefix in swapped if any(key.startswith(prefix) for key in variant.draft.tensors)
        )
        tensors = {key.replace(old, swapped[old]): spec for key, spec in variant.draft.tensors.items()}
        assert excuse(variant, Draft(variant.draft.config, tensors, whole=variant.draft.whole)) == reason
