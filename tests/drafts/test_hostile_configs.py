"""A config from outside ends in an inventory, a KeyError, a TypeError or a refusal, after bounded work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drafts.configs import DSPARK_LATENT, EAGLE3_LATENT, LAGUNA, NESTED, PUBLIC, Config
from zoo.drafts.family import FAMILIES, Family, NotInventoriedError, family_of, family_of_names
from zoo.drafts.layouts import KIND, LAYER, native
from zoo.drafts.parts import MAX_LAYERS

WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, float("inf"), float("nan"), "256", "", [], ["x"], {}),
    *({"a": {"b": []}}, [[]], [{}], [10**30], "\0" * 100),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def spoiled(config: Config, value: Any) -> Iterator[Config]:
    """``config`` with each of its keys, at both levels, replaced by ``value`` in turn."""
    for key in config:
        yield {**config, key: value}
    for block in ("dflash_config", "eagle_config", "transformer_layer_config"):
        for key in config.get(block, {}):
            yield {**config, block: {**config[block], key: value}}


def survive(family: Family, config: Config) -> None:
    """Both parts of an inventory are a mapping or one of the documented errors."""
    for part in (family.inventory, family.optional):
        try:
            tensors = part(config, "bfloat16")
        except (KeyError, TypeError, NotInventoriedError):
            continue
        assert len(tensors) <= 6 + 20 * MAX_LAYERS
        for spec in tensors.values():
            assert all(type(size) is int and size >= 0 for size in spec.shape)
    family_of(config)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_wrong_value_anywhere_is_a_documented_error(family: Family, value: Any) -> None:
    for config in spoiled(PUBLIC[family.name], value):
        survive(family, config)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("config", [LAGUNA, EAGLE3_LATENT, DSPARK_LATENT, *NESTED.values()])
def test_a_wrong_value_in_another_layout_is_a_documented_error(config: Config, value: Any) -> None:
    family = family_of(config)
    assert family is not None
    for changed in spoiled(config, value):
        survive(family, changed)
        layout = native(changed)
        assert all(layout.pointer(pointer).startswith("/") for pointer in ("/hidden_size", *layout.pointers))


@given(
    config=st.dictionaries(
        st.sampled_from([KIND, LAYER, "aux_hidden_state_layer_ids", "dflash_config", "eagle_config"]), JSON
    ),
    kind=st.sampled_from([*NESTED, "xpress", "", None]),
)
def test_a_layout_is_read_of_any_json(config: Config, kind: str | None) -> None:
    for changed in (config, {**config, KIND: kind}):
        layout = native(changed)
        assert layout.name in ("flat", "speculators")
        for family in FAMILIES:
            survive(family, changed)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_json_in_any_two_places_is_a_documented_error(family: Family, data: st.DataObject) -> None:
    extra = ["eagle_config", "num_aux_hidden_states", "target_hidden_size", "fc_norm", "dspark_config"]
    config = dict(PUBLIC[family.name])
    for key in data.draw(st.lists(st.sampled_from([*config, *extra]), min_size=1, max_size=2)):
        config[key] = data.draw(JSON)
    survive(family, config)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "vocab_size", "num_aux_hidden_states"])
def test_a_huge_number_makes_no_long_list(family: Family, key: str) -> None:
    survive(family, {**PUBLIC[family.name], key: 10**9, "fc_norm": True})


def test_a_long_list_of_aux_layers_makes_no_list_of_norms_without_end() -> None:
    eagle3 = next(family for family in FAMILIES if family.name == "eagle3")
    ids = {"eagle_aux_hidden_state_layer_ids": [1] * 100_000}
    with pytest.raises(TypeError, match="at most 1,000"):
        eagle3.inventory({**PUBLIC["eagle3"], "fc_norm": True, "eagle_config": ids}, "bfloat16")


@given(config=st.dictionaries(st.sampled_from(["architectures", "model_type", "dflash_config"]), JSON))
def test_recognition_never_raises(config: Config) -> None:
    family_of(config)


def test_long_and_odd_names_are_read_in_one_pass() -> None:
    assert family_of_names(["." * 100_000, "layers.0." * 10_000, "\n", "markov_head"]) is None
