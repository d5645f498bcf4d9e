"""Layouts of config.json: the flat one, and the nested one of speculators made flat.

speculators keeps the layer's config in ``transformer_layer_config`` and the draft's own keys around it.
:func:`native` gives the flat config with the same meaning, in the keys that the families and the rules
understand, and says for each of them where it stands in the file.

The ids of the aux layers are the delicate part. speculators numbers hidden states: id i is what enters layer
i, so what layer i-1 puts out, and i may be the number of layers (the final state; its converter drops that
one, and its slice of ``fc``). A flat DFlash config numbers the layers, so the ids are one lower there, as
vLLM also reads them. A flat EAGLE3 config has no one convention (vLLM takes its ids like speculators, SGLang
adds 1 on some targets), so they stay.

Sources: speculators 0.9.0, models/*/config.py, models/utils.py (resolve_target_layer_ids) and
convert/dflash/converter.py; vllm 0.33.0, transformers_utils/configs/speculators/algos.py. SGLang 0.5.14 and
0.5.23 read none of this layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LAYER = "transformer_layer_config"
KIND = "speculators_model_type"
# Names of drafts that no engine and no writer of a flat config has.
NESTED_ARCHITECTURES = (
    "DFlashSpeculator",
    "DSparkSpeculator",
    "Eagle3DraftModel",
    "Eagle3Speculator",
    "PEagleSpeculator",
)
_DIFFUSION = ("dflash", "dflash2", "dspark", "xpress")
_EAGLE = ("eagle3", "peagle")
# Keys that a flat config of the DFlash family has in dflash_config.
_OWN = (
    "mask_token_id conv_kernel_size conv_group_size selector_rank selector_top_k markov_rank "
    "markov_head_type enable_confidence_head confidence_head_with_markov sample_from_anchor"
).split()
# Keys that both levels may state, and that change what is served.
_STATED_TWICE = ("architectures", "dtype", "tie_word_embeddings", "torch_dtype")


@dataclass(frozen=True)
class Layout:
    """How a config.json is laid out. ``name`` is "flat" or "speculators"; ``config`` the equivalent flat
    config; ``pointers`` leads from its JSON pointers, where they differ, to those of the file; ``notes`` are
    sentences for a person."""

    name: str
    config: Mapping[str, Any]
    pointers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def pointer(self, flat: str) -> str:
        """Where the file states what stands at ``flat``; for what is inside a moved object, that object's
        new place and the rest."""
        at = flat
        while at not in self.pointers:
            at, slash, _ = at.rpartition("/")
            if not slash:
                return flat
        return self.pointers[at] + flat.removeprefix(at)


def native(config: Mapping[str, Any]) -> Layout:
    """The layout of ``config``. A flat one is returned unchanged. Never raises, whatever the values are.

    The keys of the layer come to the top. Where both levels state a key, the top level counts, for there
    stands what the draft is (``architectures``, ``dtype``), except for ``model_type``, which is the layer's;
    a null counts as absent. ``KIND`` stays, and says to the families that the file holds what speculators
    saves.
    """
    if LAYER not in config and config.get(KIND) is None:
        return Layout("flat", config)
    layer = config.get(LAYER)
    inner: Mapping[str, Any] = layer if isinstance(layer, Mapping) else {}
    outer = {key: value for key, value in config.items() if key != LAYER and value is not None}
    if inner.get("model_type") is not None:
        outer.pop("model_type", None)
    pointers = {f"/{_escaped(key)}": f"/{LAYER}/{_escaped(key)}" for key in inner if key not in outer}
    flat: dict[str, Any] = {**inner, **outer}
    block, moved = _moved(flat, config.get(KIND))
    if moved:
        held = flat.get(block)
        flat[block] = dict(held) if isinstance(held, Mapping) else {}
    for key, (value, source) in moved.items():
        flat[block][key] = value
        del flat[source]
        pointers[f"/{block}/{key}"] = pointers.pop(f"/{source}", f"/{source}")
    return Layout("speculators", flat, pointers, tuple(_notes(inner, outer, config.get(KIND))))


def _moved(flat: Mapping[str, Any], kind: object) -> tuple[str, dict[str, tuple[Any, str]]]:
    """The block of the draft's own keys in a flat config, and each of its keys: its value, and the key that
    states it in the file."""
    if kind in _EAGLE:
        key = "eagle_aux_hidden_state_layer_ids"
        return "eagle_config", {key: (flat[key], key)} if key in flat else {}
    if kind not in _DIFFUSION:
        return "", {}
    moved = {key: (flat[key], key) for key in _OWN if key in flat}
    if "aux_hidden_state_layer_ids" in flat:
        ids = _one_lower(flat["aux_hidden_state_layer_ids"])
        moved["target_layer_ids"] = (ids, "aux_hidden_state_layer_ids")
    if isinstance(flat.get("sliding_window_non_causal"), bool):
        moved["causal"] = (not flat["sliding_window_non_causal"], "sliding_window_non_causal")
    return "dflash_config", moved


def _one_lower(ids: object) -> object:
    """The layers whose output these hidden states are; anything but a list of integers as it is."""
    if not isinstance(ids, list) or any(not isinstance(i, int) or isinstance(i, bool) for i in ids):
        return ids
    return [i - 1 for i in ids]


def _notes(inner: Mapping[str, Any], outer: Mapping[str, Any], kind: object) -> Iterator[str]:
    yield "SGLang 0.5.14 and 0.5.23 do not read the layout of speculators; vLLM does"
    if not inner:
        yield f"config.json has no {LAYER}, where the dimensions stand: take the whole file"
    if kind in _DIFFUSION and "aux_hidden_state_layer_ids" in outer:
        yield "aux_hidden_state_layer_ids are one more than the target_layer_ids of a flat config"
    if kind in _EAGLE and "eagle_aux_hidden_state_layer_ids" in outer:
        yield "eagle_aux_hidden_state_layer_ids are those of vLLM, which takes them as they are"
    for key in sorted(_STATED_TWICE):
        if inner.get(key) is not None and key in outer and outer[key] != inner[key]:
            yield f"{key} is stated twice with different values; the one outside {LAYER} counts here"


def _escaped(key: str) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")
