"""What the readings say of complete drafts, engine by engine; and of what no engine should meet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus.families import Draft, dflash2, domino, dspark, eagle3, peagle
from tests.corpus.kit import config, draft_tensors
from zoo.engines.readings import (
    KNOWN,
    PROFILES,
    EngineReading,
    Fate,
    LayerIds,
    Missing,
    Refusal,
    parse_engine,
    reading_of,
)
from zoo.engines.readings.words import grouped, sentences
from zoo.errors import UsageError

OLD, NEW, VLLM = KNOWN


def dflash(**changes: Any) -> Draft:
    return Draft("dflash", config(**changes), draft_tensors())


def read(engine: tuple[str, str], draft: Draft, **more: Any) -> EngineReading:
    tensors = {name: (dtype, shape) for name, (dtype, shape, _) in draft.tensors.items()}
    return reading_of(*engine, draft.config, tensors, **more)


def flat(draft: Draft) -> Draft:
    """Head keys at the top level too, where SGLang 0.5.23 and vLLM look for them."""
    return Draft(draft.family, {**draft.config["dflash_config"], **draft.config}, draft.tensors)


def named(draft: Draft, architecture: str) -> Draft:
    return Draft(draft.family, draft.config | {"architectures": [architecture]}, draft.tensors)


@pytest.mark.parametrize("engine", KNOWN)
def test_every_engine_reads_a_dflash_draft_whole(engine: tuple[str, str]) -> None:
    reading = read(engine, dflash())
    assert set(reading.fates.values()) == {Fate.READ}
    assert set(reading.missing) == {"embed_tokens.weight", "lm_head.weight"}
    assert set(reading.missing.values()) == {Missing.BORROWED}
    assert reading.layer_ids is not None
    assert (reading.layer_ids.after, reading.layer_ids.guessed) == ((0, 1, 2), False)
    assert sentences(reading)[0].endswith(
        "reads all 25 tensors; embed_tokens and lm_head are borrowed from the target."
    )


@pytest.mark.parametrize(("make", "group"), [(dspark, "the Markov head"), (domino, "the Domino projector")])
def test_sglang_0_5_14_serves_a_head_as_dflash_without_it(make: Any, group: str) -> None:
    reading = read(OLD, named(make(), "DFlashDraftModel"))
    ignored = reading.tensors(Fate.IGNORED)
    assert len(ignored) == 4
    assert group in grouped(ignored)
    assert sentences(reading)[0].startswith("SGLang 0.5.14 will ignore 4 tensors of this file: ")


def test_sglang_0_5_14_knows_no_dflash2() -> None:
    (said,) = sentences(read(OLD, dflash2()))
    assert said == "SGLang 0.5.14 refuses to start: it does not know the architecture DFlash2DraftModel."


@pytest.mark.parametrize(
    ("engine", "draft", "loads_as"),
    [
        (NEW, dflash2(), "DFlash2DraftModel"),
        (VLLM, dflash2(), "DFlash2Qwen3ForCausalLM"),
        (NEW, named(domino(), "DFlashDraftModel"), "DFlashDraftModel"),
        (NEW, flat(dspark()), "DSparkDraftModel"),
        (NEW, flat(dspark("gated")), "DSparkDraftModel"),
        (NEW, flat(dspark("rnn")), "DSparkDraftModel"),
        (VLLM, flat(dspark()), "Qwen3DSparkForCausalLM"),
        *[(engine, eagle3(), None) for engine in KNOWN],
        *[(engine, eagle3(layer="layers.0"), None) for engine in KNOWN],
        *[(engine, eagle3(fc_norm=True), None) for engine in KNOWN],
    ],
)
def test_what_an_engine_knows_it_reads_whole(
    engine: tuple[str, str], draft: Draft, loads_as: str | None
) -> None:
    reading = read(engine, draft)
    assert reading.refusals == ()
    assert set(reading.fates.values()) <= {Fate.READ, Fate.SKIPPED}
    assert set(reading.missing.values()) <= {Missing.BORROWED}
    assert reading.loads_as == loads_as or loads_as is None


@pytest.mark.parametrize(
    ("engine", "draft", "why"),
    [
        (NEW, domino(), "does not know the architecture DominoDraftModel"),
        (VLLM, named(domino(), "DFlashDraftModel"), "There is no module or parameter named"),
        (NEW, dspark(), "the head is built from the top level"),
        (VLLM, dspark(), "no top-level markov_rank"),
        (VLLM, flat(dspark("gated")), "markov_head.gate_proj"),
        (NEW, named(domino(), "DFlash2DraftModel"), "selector_rank"),
        (VLLM, peagle(), "does not know the architecture PEagleDraftModel"),
        (OLD, dflash(num_target_layers=None), "out-of-range layer id"),
        (OLD, dflash(num_target_layers=2), "out-of-range layer id: 2 of 2"),
        (OLD, dflash(hidden_act="gelu"), "Unsupported DFlash activation"),
        (OLD, dflash(model_type="dflash"), "unknown model_type 'dflash'"),
        (OLD, dflash(model_type=None), "no model_type"),
        (OLD, dflash(architectures=None), "names no architecture"),
        (OLD, dflash(rms_norm_eps=1), "rms_norm_eps is 1, not a number with a point"),
        (VLLM, eagle3(256), "draft_id_to_target_id"),
    ],
)
def test_refusals_say_why(engine: tuple[str, str], draft: Draft, why: str) -> None:
    reading = read(engine, draft)
    assert why in " ".join(refusal.reason for refusal in reading.refusals)
    assert reading.missing == {}
    assert sentences(reading)[0].split(" refuses to start: ")[0] in (
        "SGLang 0.5.14",
        "SGLang 0.5.23",
        "vLLM 0.33.0",
    )


def test_names_of_torchspec_leave_the_fusion_layer_random() -> None:
    tensors = draft_tensors()
    tensors["context_proj.weight"] = tensors.pop("fc.weight")
    reading = read(OLD, Draft("dflash", config(), tensors))
    assert reading.tensors(Fate.IGNORED) == ["context_proj.weight"]
    assert reading.missing["fc.weight"] is Missing.RANDOM
    assert read(VLLM, Draft("dflash", config(), tensors)).refusals[0].tensor == "context_proj.weight"


def test_names_of_modelopt_lose_the_markov_head() -> None:
    draft = flat(dspark())
    tensors = {name.replace("markov_head.", ""): tensor for name, tensor in draft.tensors.items()}
    reading = read(NEW, Draft("dspark", draft.config, tensors))
    assert reading.tensors(Fate.IGNORED) == ["markov_w1.weight", "markov_w2.weight"]
    assert reading.missing["markov_head.markov_w1.weight"] is Missing.RANDOM


def test_the_nested_layout_of_speculators_is_for_vllm_alone() -> None:
    plain = dflash().config
    block = plain.pop("dflash_config")
    kept = ("architectures", "dtype", "num_target_layers", "block_size")
    nested = {
        "speculators_model_type": "dflash",
        "speculators_config": {"proposal_methods": [{"speculative_tokens": 7}]},
        "transformer_layer_config": {key: value for key, value in plain.items() if key not in kept},
        "aux_hidden_state_layer_ids": [each + 1 for each in block["target_layer_ids"]],
        "mask_token_id": block["mask_token_id"],
    }
    draft = Draft("dflash", nested, draft_tensors())
    reading = read(VLLM, draft)
    assert set(reading.fates.values()) == {Fate.READ}
    assert reading.layer_ids is not None
    assert reading.layer_ids.after == (0, 1, 2)
    assert all(read(engine, draft).refusals[0].kind == "model type" for engine in (OLD, NEW))


def test_a_part_of_a_group_goes_by_its_names() -> None:
    draft = eagle3()
    draft.tensors["fc.bias"] = draft.tensors["norm.weight"]
    assert sentences(read(OLD, draft))[0] == 'SGLang 0.5.14 will ignore 1 tensor of this file: "fc.bias".'
    for index in range(5):
        draft.tensors[f"midlayer.{index}.bias"] = draft.tensors["norm.weight"]
    said = sentences(read(OLD, draft))[0]
    assert said.endswith('ignore 6 tensors of this file: "fc.bias" and 5 tensors of the layers.')


def test_a_count_written_as_text_is_a_refusal_that_says_so() -> None:
    draft = eagle3()
    draft.config["draft_vocab_size"] = "128"
    for engine in (OLD, NEW, VLLM):
        (said,) = sentences(read(engine, draft))
        assert said.endswith("draft_vocab_size is '128', not an integer.")


def test_one_reason_more_is_one_reason() -> None:
    refusals = tuple(Refusal("tensor", f"reason {index}", "here") for index in range(4))
    assert sentences(EngineReading("sglang", "0.5.14", refusals=refusals))[-1].endswith("one more reason.")


def test_the_layers_of_a_deepseek_target_are_named() -> None:
    draft = eagle3()
    draft.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [0, 2, 3]
    assert any("the layer before each of 0, 2 and 3," in said for said in sentences(read(OLD, draft)))


def test_a_target_that_is_known_leaves_no_question_about_its_layers() -> None:
    draft = eagle3()
    draft.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = [0, 2, 3]
    open_, plain, deepseek = (read(OLD, draft, target_type=each) for each in (None, "llama", "kimi_k2"))
    assert open_.layer_ids == plain.layer_ids == LayerIds((0, 2, 3))
    assert plain.notes == ()
    assert deepseek.layer_ids == LayerIds((-1, 1, 2))
    assert deepseek.notes[0].startswith("on this target (kimi_k2) it taps the outputs of layers -1, 1 and 2")


def test_guessed_layer_ids() -> None:
    reading = read(OLD, dflash(dflash_config={"mask_token_id": 4}, num_target_layers=36, block_size=None))
    assert reading.layer_ids is not None
    assert (reading.layer_ids.after, reading.layer_ids.guessed) == ((1, 33), True)
    assert reading.block_size == 16
    other = read(OLD, dflash(dflash_config={"mask_token_id": 4}, num_target_layers=36), target_layers=61)
    assert other.layer_ids is not None
    assert other.layer_ids.after == (1, 58)


def test_vllm_does_not_look_into_eagle_config_for_layer_ids() -> None:
    reading = read(VLLM, eagle3(), target_layers=36)
    assert reading.layer_ids is not None
    assert (reading.layer_ids.after, reading.layer_ids.guessed) == ((1, 17, 32), True)
    assert any("not read by the default runner" in note for note in reading.notes)
    top = eagle3()
    top.config["eagle_aux_hidden_state_layer_ids"] = [2, 18, 33]
    found = read(VLLM, top).layer_ids
    assert found is not None
    assert (found.after, found.guessed) == ((1, 17, 32), False)


def test_an_eagle3_draft_without_its_map_takes_draft_ids_for_target_ids() -> None:
    draft = eagle3()
    del draft.tensors["d2t"]
    for engine in KNOWN:
        reading = read(engine, draft)
        assert reading.missing["d2t"] is Missing.DEFAULT
        assert any("takes the ids of the draft" in said for said in sentences(reading))


def test_a_wrong_prefix_leaves_everything_random() -> None:
    tensors = {f"draft.{name}": tensor for name, tensor in draft_tensors().items()}
    reading = read(OLD, Draft("dflash", config(), tensors))
    assert set(reading.fates.values()) == {Fate.IGNORED}
    assert sum(held is Missing.RANDOM for held in reading.missing.values()) == 25


def test_what_nobody_read_is_said_to_be_unread() -> None:
    for draft in (named(dflash(), "LiLiCorrDraftModel"), dflash(quantization_config={"quant_method": "fp8"})):
        reading = read(NEW, draft)
        assert not reading.covered
        assert sentences(reading)[0].startswith("SGLang 0.5.23: nobody has read what it makes of ")


@pytest.mark.parametrize("text", ["sglang", "sglang==0.5.20", "sglang==", "trtllm==1.0", "==0.5.14"])
def test_an_engine_that_was_not_read_is_not_guessed(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_engine(text)
    if "." in text and not text.startswith("=="):
        assert "known are sglang==0.5.14, sglang==0.5.23, vllm==0.33.0" in caught.value.message


@pytest.mark.parametrize("value", [None, -1, 0, 10**9, 1.5, "x", [], {}, True, [1], {"a": 1}])
@pytest.mark.parametrize(
    "key",
    ["hidden_size", "num_hidden_layers", "dflash_config", "layer_types", "architectures", "eagle_config"],
)
def test_no_value_makes_a_reading_raise(key: str, value: Any) -> None:
    for engine in KNOWN:
        for draft in (dflash(), flat(dspark()), dflash2(), eagle3()):
            changed = Draft(draft.family, draft.config | {key: value}, draft.tensors)
            assert read(engine, changed).engine == engine[0]


def test_profiles_state_their_facts_as_data() -> None:
    for profile in PROFILES:
        used = {algorithm for algorithm, _ in profile.architectures.values()}
        assert used <= set(profile.algorithms)
        assert used == set(profile.layer_ids)
        assert "target_layer_ids" in profile.config_keys["dflash_config"]
