"""What the I rules advise: each cause once, and removing only where nothing better is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.families import Draft, dflash2, dspark, eagle3, write
from tests.corpus.kit import Tensor
from zoo.results import Finding
from zoo.verify import Verification, verify_source

NORM: Tensor = ("BF16", (64,), bytes(128))


def verified(folder: Path, draft: Draft) -> Verification:
    write(folder, draft)
    return verify_source(str(folder))


def found(folder: Path, draft: Draft, code: str) -> list[Finding]:
    return [each for each in verified(folder, draft).report.findings if each.code == code]


@pytest.mark.parametrize(
    ("draft", "name", "says"),
    [
        (eagle3(), "fc_norm.0.weight", 'if it was trained, state "fc_norm": true'),
        (eagle3(fc_norm=True), "fc_norm.3.weight", "an aux layer for each norm in config.json; else remove"),
        (eagle3(), "input_norm.weight", '"norm_before_fc": true'),
        (eagle3(), "fc.bias", '"bias": true'),
        (dspark(confidence=False), "confidence_head.proj.weight", '"enable_confidence_head": true'),
        (dspark(), "markov_head.gate_proj.weight", '"markov_head_type": "gated"'),
        (dflash2(), "layers.7.mlp.up_proj.weight", "the number of layers"),
        (dflash2(), "markov_head.markov_w1.weight", "it is DSpark's: correct the family"),
        (dflash2(), "something.else", "remove it, or correct layers and family in config.json"),
    ],
)
def test_an_unexpected_tensor_is_not_only_to_be_removed(
    tmp_path: Path, draft: Draft, name: str, says: str
) -> None:
    draft.tensors[name] = NORM
    (finding,) = found(tmp_path, draft, "I002")
    assert says in finding.hint


@pytest.mark.parametrize(
    ("lost", "says"),
    [("t2d", "no engine reads it"), ("d2t", "token ids for the target's"), ("fc.weight", "uninitialised")],
)
def test_a_missing_tensor_says_what_its_loss_means(tmp_path: Path, lost: str, says: str) -> None:
    draft = eagle3()
    del draft.tensors[lost]
    (finding,) = found(tmp_path, draft, "I001")
    assert says in finding.hint


def test_most_names_decide_the_spelling_of_the_layer(tmp_path: Path) -> None:
    draft = eagle3()
    draft.tensors["layers.0.hidden_norm.weight"] = draft.tensors["midlayer.hidden_norm.weight"]
    report = verified(tmp_path, draft).report
    (finding,) = report.findings
    assert finding.message == (
        'tensor "layers.0.hidden_norm.weight" is foreign: a second "midlayer.hidden_norm.weight"'
    )
    assert finding.hint.startswith("remove it: midlayer.hidden_norm.weight is there, too")


def test_the_names_of_one_cause_are_one_finding(tmp_path: Path) -> None:
    draft = eagle3()
    for part in ("k", "v"):
        tensor = draft.tensors.pop(f"midlayer.self_attn.{part}_proj.weight")
        draft.tensors[f"layers.0.self_attn.{part}_proj.weight"] = tensor
    (finding,) = found(tmp_path, draft, "I005")
    assert finding.message.startswith('2 tensors are foreign: "layers.0." for "midlayer.", e.g. "layers.0.')
    assert finding.hint == "rename layers.0. to midlayer."


def test_names_say_the_family_where_the_config_says_nothing(tmp_path: Path) -> None:
    heads: dict[str, Tensor] = {f"{head}.0.linear.bias": NORM for head in range(3)}
    subject = verified(tmp_path, Draft("medusa", {"version": "2"}, heads)).subject
    assert subject.family is not None
    assert subject.family.name == "medusa"
    report = verify_source(str(tmp_path)).report
    assert report.subject["family"] == "medusa"
    assert (report.exit_status, report.findings) == (2, ())
    reasons = {each.code: each.reason for each in report.not_checked}
    assert reasons["I001"].endswith("a Medusa draft: it does not state medusa_num_heads")


def test_an_architecture_that_is_not_known_is_never_guessed(tmp_path: Path) -> None:
    draft = eagle3()
    draft.config.update(architectures=["SomethingElse"], eagle_config=None)
    assert verified(tmp_path, draft).subject.family is None
