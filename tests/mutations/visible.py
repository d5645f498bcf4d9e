"""What a mutation means to an engine: whether it contradicts the recipe, or why it does not.

The default is that it contradicts. Only the reasons below excuse a mutation, each one a change of spelling
that every engine that serves the family reads alike; they are written against the engines' sources and not
against ``zoo``, and they are counted in the table, never left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.mutations.drafts import Draft, Table, Variant
from tests.mutations.keys import ADDED_TO, UNREAD

UNSEEN = "header and config stay the same"


def excuse(variant: Variant, mutated: Draft) -> str | None:
    """Why ``mutated`` does not contradict the recipe of ``variant``, or None if it does."""
    one, other = variant.draft, mutated
    if _text(one) == _text(other):
        return UNSEEN
    for reason, spelling in _SPELLINGS.items():
        one, other = spelling(variant, one), spelling(variant, other)
        if _text(one) == _text(other):
            return reason
    return None


def _text(draft: Draft) -> str:
    """The draft with every difference of type: 1, 1.0, "1" and true are four values."""
    return json.dumps([draft.config, draft.tensors, draft.second])


def _order(variant: Variant, draft: Draft) -> Draft:
    """JSON objects have no order, and engines look tensors up by name."""
    config = json.loads(json.dumps(draft.config, sort_keys=True))
    return replace(draft, config=config, tensors=dict(sorted(draft.tensors.items())))


def _layer_0(variant: Variant, draft: Draft) -> Draft:
    """SGLang 0.5.14 and 0.5.23 and vLLM 0.33.0 (models/llama_eagle3.py, load_weights) replace ``midlayer`` by
    ``layers.0`` before they look a name up."""
    if variant.family != "eagle3":
        return draft
    spelled: Table = {name.replace("midlayer.", "layers.0."): spec for name, spec in draft.tensors.items()}
    return _order(variant, replace(draft, tensors=spelled))


def _numbers(variant: Variant, draft: Draft) -> Draft:
    """Python computes a rope with 32 as with 32.0, and SGLang and vLLM take the two scales of DFlash2 as
    floats whatever is written. A count is another matter: engines index with it."""
    config = dict(draft.config)
    if _is_int(config.get("rope_theta")):
        config["rope_theta"] = float(config["rope_theta"])
    for block in ("rope_scaling", "rope_parameters"):
        if isinstance(config.get(block), dict):
            config[block] = {key: float(at) if _is_int(at) else at for key, at in config[block].items()}
    if isinstance(inner := config.get("dflash_config"), dict):
        scales = ("final_logit_softcapping", "output_multiplier")
        found = {key: float(inner[key]) for key in scales if _is_int(inner.get(key))}
        config["dflash_config"] = inner | found
    return replace(draft, config=config)


def _dtype(variant: Variant, draft: Draft) -> Draft:
    """transformers 5 takes ``torch_dtype`` for ``dtype``, and SGLang and vLLM read the config through it."""
    config = dict(draft.config)
    if config.get("dtype") in (None, config.get("torch_dtype")) and "torch_dtype" in config:
        config["dtype"] = config.pop("torch_dtype")
    return _order(variant, replace(draft, config=config))


def _place(variant: Variant, draft: Draft) -> Draft:
    """SGLang 0.5.14 and 0.5.23 (parse_dflash_draft_config) look for the block size and the target's depth in
    dflash_config and then at the top; vLLM 0.33.0 takes both from the command and the target. The aux layers
    are looked for in both places by SGLang and by vLLM (eagle3_utils.py of its default runner), and so is the
    mask token by every engine that serves DSpark. A mask token or aux layers that stand in the block may
    stand at the top as well; the aux layers of EAGLE3 there one higher each: id i at the top is the output of
    layer i - 1 to vLLM 0.33.0, id i in eagle_config that of layer i to SGLang."""
    config = dict(draft.config)
    inner = config.get(variant.own)
    if not isinstance(inner, dict):
        return draft
    either = ["block_size", "num_target_layers", "target_layer_ids"] if variant.own == "dflash_config" else []
    either += ["mask_token_id"] if variant.family == "dspark" else []
    as_well = ("mask_token_id", "target_layer_ids", "eagle_aux_hidden_state_layer_ids")
    for key in (key for key in either if inner.get(key) is not None):
        if key not in config or _same(config[key], inner[key]):
            inner = {at: inner[at] for at in inner if at != key}
            config |= {key: config[variant.own][key], variant.own: inner}
    for key in (key for key in as_well if key in inner and key in config and key not in either):
        if _same(config[key], inner[key]) or _one_higher(config[key], inner[key]):
            del config[key]
    return _order(variant, replace(draft, config=config))


def _one_higher(top: Any, inner: Any) -> bool:
    lists = isinstance(top, list) and isinstance(inner, list)
    return lists and all(map(_is_int, inner)) and _same(top, [each + 1 for each in inner])


def _nulls(variant: Variant, draft: Draft) -> Draft:
    """A null that every engine takes for an absent key: they ask for it with None as the default. Of EAGLE3
    so are the number of aux layers, the aux layers at the top and the rank of a query that is not latent;
    transformers keeps the theta of rope_parameters beside a rope_theta of null."""
    config = dict(draft.config)
    absent = [
        "sliding_window",
        "quantization_config",
        "compression_config",
        "rope_scaling",
        "rope_parameters",
    ]
    absent += ["layer_types", "draft_vocab_size"]
    if variant.own == "eagle_config":
        absent += ["num_aux_hidden_states", "eagle_aux_hidden_state_layer_ids", "q_lora_rank"]
    parameters = config.get("rope_parameters")
    if isinstance(parameters, dict) and "rope_theta" in parameters:
        absent.append("rope_theta")
    config = {key: value for key, value in config.items() if key not in absent or value is not None}
    return replace(draft, config=config)


def _unread(variant: Variant, draft: Draft) -> Draft:
    """A key that no engine reads of a draft: one of exporters, or one that is read only in another object."""
    read = ADDED_TO[variant.own]
    block = {*variant.draft.config[variant.own], *read[variant.own]}
    top = {*variant.draft.config, *read[""], *block}
    config = {key: value for key, value in draft.config.items() if key in top and key not in UNREAD}
    if isinstance(inner := config.get(variant.own), dict):
        config[variant.own] = {key: value for key, value in inner.items() if key in block}
    return replace(draft, config=config)


_ROPE = ("rope_theta", "rope_scaling", "rope_parameters")


def _rope(variant: Variant, draft: Draft) -> Draft:
    """``rope_theta`` and ``rope_scaling``, or both in ``rope_parameters`` as transformers 5 writes them; in
    either, ``type`` for ``rope_type``; the type "default" for none."""
    config = dict(draft.config)
    if config.get("rope_parameters") and config.get("rope_scaling"):
        return draft
    block = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(block, dict):
        return draft
    rope = {"rope_type" if key == "type" and "rope_type" not in block else key: block[key] for key in block}
    theta = rope.pop("rope_theta", config.get("rope_theta"))
    if config.get("rope_theta", theta) != theta:
        return draft
    kind = rope.pop("rope_type", "default")
    bare = {key: value for key, value in config.items() if key not in _ROPE}
    return _order(variant, replace(draft, config=bare | {"rope": [theta, kind, rope]}))


_SPELLINGS: dict[str, Callable[[Variant, Draft], Draft]] = {
    "another order": _order,
    "midlayer. or layers.0.": _layer_0,
    "32 or 32.0": _numbers,
    "dtype or torch_dtype": _dtype,
    "in another place that engines look": _place,
    "null for absent": _nulls,
    "a key that nobody reads": _unread,
    "another layout of the same rope": _rope,
}


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)
