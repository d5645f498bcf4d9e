"""The names of other frameworks are explained, each with the rename that mends it."""

from __future__ import annotations

import pytest

from tests.drafts.configs import DSPARK, with_head
from zoo.drafts import dspark
from zoo.drafts.names import explain

GATED = dspark.inventory(with_head(DSPARK, markov_head_type="gated"), "bfloat16")
RNN = dspark.inventory(with_head(DSPARK, markov_head_type="rnn"), "bfloat16")


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("markov_w1.weight", "markov_head.markov_w1.weight"),
        ("markov_w2.weight", "markov_head.markov_w2.weight"),
        ("confidence_proj.weight", "confidence_head.proj.weight"),
        ("confidence_proj.bias", "confidence_head.proj.bias"),
        ("gate_proj.weight", "markov_head.gate_proj.weight"),
        ("gate_proj.bias", "markov_head.gate_proj.bias"),
        ("dflash_module.markov_w1.weight", "markov_head.markov_w1.weight"),
        ("context_proj.weight", "fc.weight"),
        ("draft_model.context_norm.weight", "hidden_norm.weight"),
    ],
)
def test_the_names_of_modelopt_and_torchspec_have_a_rename(name: str, native: str) -> None:
    found = explain(name, GATED)
    assert found is not None
    assert found.native == native
    assert found.advice == f"rename it to {native}"


def test_the_joint_projection_of_an_rnn_head_has_a_rename() -> None:
    found = explain("joint_proj.weight", RNN)
    assert found is not None
    assert found.native == "markov_head.joint_proj.weight"


def test_the_gate_of_a_surplus_layer_is_not_taken_for_the_markov_heads() -> None:
    assert explain("layers.9.mlp.gate_proj.weight", GATED) is None


def test_a_head_that_the_config_does_not_have_is_not_explained() -> None:
    assert explain("joint_proj.weight", GATED) is None
    assert explain("markov_w1.weight", ["fc.weight"]) is None
