"""C rules about a config that contradicts itself: an engine takes one of two statements, or builds what the
file does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoo.drafts import dspark, eagle3
from zoo.drafts.keys import DIFFUSION
from zoo.drafts.parts import names_one_of
from zoo.printable import quoted
from zoo.results import Finding, Severity
from zoo.rules.config import against, place, same, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# Where a config of several models keeps its language model's, in the order in which SGLang looks.
_NESTED = ("thinker_config", "llm_config", "language_config", "text_config")
_DIMENSIONS = (
    "hidden_size intermediate_size num_attention_heads num_key_value_heads num_hidden_layers head_dim "
    "vocab_size max_position_embeddings"
).split()


@rule("C034", "aux-layers-for-vllm", needs=("config",))
def aux_layers_for_vllm(subject: Subject) -> Iterable[Finding]:
    """vLLM takes the aux layers of a DFlash draft from a list that says others.

    What it does: for DFlash and what is built on it, compares eagle_aux_hidden_state_layer_ids at the top
    level with target_layer_ids. The first counts what enters a layer, so its ids are one higher.
    Why is this bad: vLLM looks for the first and SGLang for the second: the same file reads two sets of
    layers, and fc fits both.
    Example: "eagle_aux_hidden_state_layer_ids": [7, 9, 11] beside "target_layer_ids": [0, 1, 2].
    Use instead: target_layer_ids alone, or ids that are one higher.
    Sources: vllm 0.33.0, v1/worker/gpu/spec_decode/eagle/eagle3_utils.py
    (get_eagle3_aux_layers_from_config) and v1/worker/gpu_model_runner.py; sglang 0.5.14,
    speculative/dflash_utils.py.
    Since: 0.1.0
    """
    key = "eagle_aux_hidden_state_layer_ids"
    ids, other = (subject.stated.get(each, ()) for each in ("target_layer_ids", key))
    if subject.keys is not DIFFUSION or not ids or not other or other[0].value == []:
        return  # vLLM passes over an empty list
    if not isinstance(ids[0].value, list) or any(type(each) is not int for each in ids[0].value):
        return  # C020
    wanted = [each + 1 for each in ids[0].value]
    if not same(wanted, other[0].value):
        message = f"{key} is {shown(other[0].value)}, and target_layer_ids mean {shown(wanted)} there"
        hint = f"remove {key}, which vLLM takes first, or write {wanted}"
        lines = against(subject, "target_layer_ids")
        yield Finding(message, hint, place(other[0].pointer), lines)


@rule("C035", "latent-keys-of-another-layer", needs=("config",))
def latent_keys(subject: Subject) -> Iterable[Finding]:
    """An EAGLE3 config has the dimensions of latent attention and the name of a draft without it.

    What it does: looks for kv_lora_rank in a flat EAGLE3 config whose architecture is none of those with
    multi-head latent attention (MLA).
    Why is this bad: engines choose the layer by the architecture. They build a Llama layer, skip the latent
    tensors without a word, and leave q, k and v uninitialised.
    Example: "architectures": ["LlamaForCausalLMEagle3"] beside "kv_lora_rank": 512.
    Use instead: "architectures": ["Eagle3DeepseekV2ForCausalLM"], or no latent dimensions.
    Sources: sglang 0.5.14 and 0.5.23, models/llama_eagle3.py and models/kimi_k25_eagle3.py; vllm 0.33.0,
    models/registry.py.
    Since: 0.1.0
    """
    is_eagle3 = subject.family is not None and subject.family.name == "eagle3"
    stated = subject.stated.get("kv_lora_rank", ())
    if is_eagle3 and stated and not names_one_of(subject.layout.config, eagle3.MLA_ARCHITECTURES):
        name = shown(subject.layout.config.get("architectures"))
        message = f"kv_lora_rank is {shown(stated[0].value)}, but {name} has no latent attention"
        hint = f"name {eagle3.MLA_ARCHITECTURES[0]} if the layers are latent, or remove the latent dimensions"
        yield Finding(message, hint, place(stated[0].pointer), against(subject, "architectures"))


@rule("C036", "reduced-vocabulary-without-its-head", needs=("config", "header"))
def reduced_vocabulary(subject: Subject) -> Iterable[Finding]:
    """A DFlash config reduces the vocabulary, and the file has no head or no map for that.

    What it does: for DFlash and what is built on it, in the flat layout: where draft_vocab_size is below
    vocab_size, looks for lm_head.weight and d2t in the file.
    Why is this bad: SGLang does not read the key. vLLM refuses such a DSpark draft; for DFlash it takes the
    target's head and a map of zeros, so that the draft proposes other words than it was trained to.
    Example: "draft_vocab_size": 32000 in a DFlash draft, which borrows the target's head.
    Use instead: no draft_vocab_size.
    Sources: vllm 0.33.0, models/qwen3_dflash.py and models/qwen3_dspark.py (load_weights).
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    draft, vocab = (subject.stated.get(key, ()) for key in ("draft_vocab_size", "vocab_size"))
    if not _is_flat(subject) or not draft or not vocab:
        return
    reduced, whole = draft[0].value, vocab[0].value
    if type(reduced) is not int or type(whole) is not int or reduced >= whole:
        return
    held = {name.rpartition("lm_head.")[1] or name.rpartition(".")[2] for name in subject.checkpoint.tensors}
    absent = [name for name, part in (("lm_head.weight", "lm_head."), ("d2t", "d2t")) if part not in held]
    if absent:
        message = (
            f"draft_vocab_size is {reduced:,} of {whole:,}, but the file has no {' and no '.join(absent)}"
        )
        hint = "remove draft_vocab_size: the draft uses the target's head"
        yield Finding(message, hint, place(draft[0].pointer), against(subject, "draft_vocab_size"))


@rule("C037", "target-width-beside-the-draft's", needs=("config",))
def target_width(subject: Subject) -> Iterable[Finding]:
    """A DFlash config states another width for the target than for the draft.

    What it does: for DFlash and what is built on it, in the flat layout, compares target_hidden_size with
    hidden_size. Kimi K3's DSpark, whose context_proj has that width, is left out.
    Why is this bad: SGLang builds fc for hidden_size, vLLM for target_hidden_size: one of them refuses the
    file, or both.
    Example: "target_hidden_size": 7168 beside "hidden_size": 4096.
    Use instead: a draft as wide as its target, and no target_hidden_size.
    Sources: vllm 0.33.0, models/qwen3_dflash.py (_get_dflash_fc_input_size); sglang 0.5.14,
    models/dflash.py.
    Since: 0.1.0
    """
    target, hidden = (subject.stated.get(key, ()) for key in ("target_hidden_size", "hidden_size"))
    if not _is_flat(subject) or names_one_of(subject.layout.config, dspark.MLA_ARCHITECTURES):
        return
    if target and hidden and not same(target[0].value, hidden[0].value):
        message = f"target_hidden_size is {shown(target[0].value)}, hidden_size {shown(hidden[0].value)}"
        hint = "remove target_hidden_size, or take the draft that is as wide as its target"
        yield Finding(message, hint, place(target[0].pointer), against(subject, "target_hidden_size"))


@rule("C038", "draft-vocabulary-open", severity=Severity.WARNING, needs=("config", "header"))
def draft_vocabulary_open(subject: Subject) -> Iterable[Finding]:
    """SGLang does not start with this EAGLE3 draft, whose config has no draft_vocab_size.

    What it does: for a folder without a recipe, looks for the key in a flat EAGLE3 config without latent
    attention. Where the file has a head, C098 says so.
    Why is this bad: SGLang reads the key without a default and raises an AttributeError; vLLM takes the
    whole vocabulary.
    Example: no "draft_vocab_size" in a draft that borrows the target's head.
    Use instead: "draft_vocab_size": null to borrow the target's head, or the rows of lm_head.
    Sources: sglang 0.5.14, models/llama_eagle3.py, run (docs/loader.md), and 0.5.23.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    config, family = subject.layout.config, subject.family
    if subject.recipe is not None or subject.layout.name != "flat" or "draft_vocab_size" in config:
        return
    if family is None or family.name != "eagle3" or names_one_of(config, eagle3.MLA_ARCHITECTURES):
        return
    if "lm_head.weight" not in subject.checkpoint.tensors:
        message = "draft_vocab_size is not there, and SGLang does not start without it"
        yield Finding(message, "write null to borrow the target's head, or the rows of lm_head", place())


@rule("C039", "config-within-the-config", needs=("config",))
def config_within(subject: Subject) -> Iterable[Finding]:
    """The config of a draft has another model's config inside, which engines read in its place.

    What it does: looks for thinker_config, llm_config, language_config and text_config in a flat config: one
    must state num_attention_heads, and no dimension otherwise than the top level.
    Why is this bad: these are keys of targets with several models. Engines take what is inside for the whole
    config: without num_attention_heads they stop, else they size the draft by other numbers than it has.
    Example: "text_config": {} in a config that was copied from a multimodal target's.
    Use instead: the draft's own keys at the top level, and none of these.
    Sources: sglang 0.5.14 and 0.5.23, utils/hf_transformers/common.py (get_hf_text_config); vllm 0.33.0,
    transformers_utils/config.py (get_hf_text_config).
    Since: 0.1.0
    """
    config = subject.layout.config
    if subject.layout.name != "flat":
        return
    for key in _NESTED:
        if config.get(key) is None:
            continue  # null is C014's
        inner, pointer = config[key], f"/{key}"
        if key == "thinker_config" and isinstance(inner, Mapping) and "text_config" in inner:
            inner, pointer = inner["text_config"], f"{pointer}/text_config"
        for said in _hides(inner, config):
            message = f"{quoted(pointer.removeprefix('/'))} {said}"
            hint = "remove it: a draft's own keys stand at the top level"
            yield Finding(message, hint, place(pointer), against(subject, key))
        return


def _hides(inner: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with ``inner`` in the place of ``config``, in words: at most one thing."""
    if not isinstance(inner, Mapping) or "num_attention_heads" not in inner:
        yield "has no num_attention_heads, and engines take it for the whole config and stop"
        return
    for key in _DIMENSIONS:
        if key in inner and not same(inner[key], config.get(key)):
            yield f"says {key} is {shown(inner[key])}, the top level {shown(config.get(key))}"
            return


def _is_flat(subject: Subject) -> bool:
    """Whether this is a draft of the DFlash family in the flat layout."""
    return subject.keys is DIFFUSION and subject.family is not None and subject.layout.name == "flat"
