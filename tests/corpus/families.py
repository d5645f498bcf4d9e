"""Tiny, complete drafts of the families besides plain DFlash, by name and shape.

Nothing here is derived by ``zoo``: names and shapes are written down, so that a mistake in the inventories of
``zoo`` (or of another tool) shows. A case takes a draft, breaks one thing in ``config`` or ``tensors``, and
writes it; :func:`recipe` describes the unbroken one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.corpus.kit import (
    GOOD_ZOO,
    HEAD_DIM,
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    KV_HEADS,
    LAYERS,
    WEIGHTS,
    Tensor,
    bf16,
    config,
    draft_tensors,
    save,
)

VOCAB, DRAFT_VOCAB = 256, 128
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft before it is written: its family, config.json and tensors."""

    family: str
    config: dict[str, Any]
    tensors: dict[str, Tensor]


def dflash2() -> Draft:
    """36 tensors: convolutions of 2 taps in groups of 8, and a selector of rank 4."""
    own = {
        "conv_kernel_size": 2,
        "conv_group_size": 8,
        "selector_rank": 4,
        "selector_top_k": 4,
        "output_multiplier": 0.5,
        "final_logit_softcapping": 20.0,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "candidate_selector.predecessor_codebook": (VOCAB, 4),
        "candidate_selector.successor_codebook": (VOCAB, 4),
        "candidate_selector.hidden_projection.weight": (4, HIDDEN),
    }
    for layer in range(LAYERS):
        for conv in ("attention_conv", "mlp_conv"):
            shapes[f"layers.{layer}.{conv}.base_kernel"] = (2, 2, HIDDEN)
            shapes[f"layers.{layer}.{conv}.kernel_projection.weight"] = (32, HIDDEN)
    return _with_head("dflash2", "DFlash2DraftModel", own, shapes)


def domino(architecture: str = "DominoDraftModel") -> Draft:
    """29 tensors: a GRU of 10 and an embedding of 6 correct the logits. SGLang serves it under the name of
    DFlashDraftModel only."""
    own = {
        "projector_type": "domino",
        "gru_hidden_dim": 10,
        "emb_dim": 6,
        "pure_draft_prefix_len": 1,
        "shift_label": True,
    }
    shapes = {
        "prefix_gru.weight_ih_l0": (30, HIDDEN),
        "prefix_gru.weight_hh_l0": (30, 10),
        "embed_proj.0.weight": (6, HIDDEN + 10),
        "embed_proj.2.weight": (VOCAB, 6),
    }
    return _with_head("domino", architecture, own, shapes)


def dspark(head: str = "vanilla", *, confidence: bool = True, at_the_top: bool = False) -> Draft:
    """29 tensors with a vanilla Markov head of rank 5 and a confidence head; gated and rnn heads have two
    more. SGLang 0.5.23 reads the keys of the head ``at_the_top`` of the config, SpecForge in its block."""
    own = {
        "projector_type": "dspark",
        "markov_rank": 5,
        "markov_head_type": head,
        "enable_confidence_head": confidence,
        "confidence_head_with_markov": True,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "markov_head.markov_w1.weight": (VOCAB, 5),
        "markov_head.markov_w2.weight": (VOCAB, 5),
    }
    if head == "gated":
        shapes |= {"markov_head.gate_proj.weight": (5, HIDDEN + 5), "markov_head.gate_proj.bias": (5,)}
    if head == "rnn":
        shapes |= {"markov_head.joint_proj.weight": (15, HIDDEN + 10), "markov_head.joint_proj.bias": (15,)}
    if confidence:
        shapes |= {"confidence_head.proj.weight": (1, HIDDEN + 5), "confidence_head.proj.bias": (1,)}
    draft = _with_head("dspark", "DSparkDraftModel", {} if at_the_top else own, shapes)
    return replace(draft, config=draft.config | own) if at_the_top else draft


def eagle3(
    draft_vocab: int = DRAFT_VOCAB, *, layer: str = "midlayer", embed: bool = False, fc_norm: bool = False
) -> Draft:
    """15 tensors; 16 with the embedding, 3 more with a norm per aux layer (EAGLE3.1). ``layer`` is the
    spelling of the one layer: midlayer or layers.0."""
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        "norm.weight": (HIDDEN,),
        "lm_head.weight": (draft_vocab, HIDDEN),
        f"{layer}.hidden_norm.weight": (HIDDEN,),
        **_llama_layer(layer, 2 * HIDDEN),
    }
    if embed:
        shapes["embed_tokens.weight"] = (VOCAB, HIDDEN)
    if fc_norm:
        shapes |= {f"fc_norm.{index}.weight": (HIDDEN,) for index in range(3)}
    switches = {"fc_norm": True, "norm_output": True} if fc_norm else {}
    whole = _eagle_config("LlamaForCausalLMEagle3", 1, draft_vocab, **switches)
    return Draft("eagle3", whole, _filled(shapes) | vocabulary_maps(draft_vocab))


def deeper(draft: Draft) -> Draft:
    """An EAGLE3 draft (with layers.0) with a second layer, whose input norm is hidden_norm as in SGLang."""
    layer = {
        name.replace("layers.0.", "layers.1."): tensor[1]
        for name, tensor in draft.tensors.items()
        if name.startswith("layers.0.") and "input_layernorm" not in name
    }
    narrow = {name: (shape[0], HIDDEN) for name, shape in layer.items() if shape[1:] == (2 * HIDDEN,)}
    tensors = draft.tensors | _filled(layer | narrow, seed=2)
    return replace(draft, config=draft.config | {"num_hidden_layers": 2}, tensors=tensors)


def latent(draft: Draft) -> Draft:
    """An EAGLE3 draft with the tensors and dimensions of multi-head latent attention (MLA) instead."""
    query, latent_rank, content, rotated, value = 8, 8, 8, 4, 8
    shapes: dict[str, tuple[int, ...]] = {
        "q_a_proj": (query, 2 * HIDDEN),
        "q_a_layernorm": (query,),
        "q_b_proj": (HEADS * (content + rotated), query),
        "kv_a_proj_with_mqa": (latent_rank + rotated, 2 * HIDDEN),
        "kv_a_layernorm": (latent_rank,),
        "kv_b_proj": (HEADS * (content + value), latent_rank),
        "o_proj": (HIDDEN, HEADS * value),
    }
    kept = {name: tensor for name, tensor in draft.tensors.items() if "self_attn" not in name}
    attention = {f"midlayer.self_attn.{name}.weight": shape for name, shape in shapes.items()}
    own = {
        "architectures": ["Eagle3DeepseekV2ForCausalLM"],
        "q_lora_rank": query,
        "kv_lora_rank": latent_rank,
        "qk_nope_head_dim": content,
        "qk_rope_head_dim": rotated,
        "v_head_dim": value,
    }
    return replace(draft, config=draft.config | own, tensors=kept | _filled(attention))


def peagle() -> Draft:
    """26 tensors at two layers: the first reads 2 x hidden; ``mask_hidden`` is a bare parameter."""
    shapes: dict[str, tuple[int, ...]] = {
        "embed_tokens.weight": (VOCAB, HIDDEN),
        "fc.weight": (HIDDEN, 3 * HIDDEN),
        "mask_hidden": (1, 1, 3 * HIDDEN),
        "norm.weight": (HIDDEN,),
        "lm_head.weight": (DRAFT_VOCAB, HIDDEN),
        "layers.0.hidden_norm.weight": (HIDDEN,),
        **_llama_layer("layers.0", 2 * HIDDEN),
        **_llama_layer("layers.1", HIDDEN),
    }
    whole = _eagle_config("PEagleDraftModel", 2, DRAFT_VOCAB)
    return Draft("peagle", whole, _filled(shapes) | vocabulary_maps(DRAFT_VOCAB))


def speculators(draft: Draft) -> Draft:
    """A P-EAGLE draft in the nested layout of speculators, which vLLM reads."""
    inner = dict(draft.config)
    ids = inner.pop("eagle_config")["eagle_aux_hidden_state_layer_ids"]
    own = {key: inner.pop(key) for key in ("architectures", "dtype", "draft_vocab_size")}
    nested = {
        **own,
        "speculators_model_type": "peagle",
        "speculators_version": "0.9.0",
        "speculators_config": {
            "algorithm": "peagle",
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
            "verifier": {"name_or_path": "example/big", "architectures": ["Qwen3ForCausalLM"]},
        },
        "eagle_aux_hidden_state_layer_ids": [layer + 1 for layer in ids],
        "mask_token_id": 4,
        "norm_before_residual": False,
        "norm_before_fc": False,
        "transformer_layer_config": inner,
    }
    return replace(draft, config=nested)


def vocabulary_maps(draft_vocab: int) -> dict[str, Tensor]:
    """d2t and t2d of a draft that has the target's first tokens and its last, half of its own each; d2t holds
    the differences."""
    first = draft_vocab // 2
    targets = np.r_[0:first, VOCAB - (draft_vocab - first) : VOCAB]
    kept = np.isin(np.arange(VOCAB), targets)
    return {
        "d2t": ("I64", (draft_vocab,), (targets - np.arange(draft_vocab)).astype("<i8").tobytes()),
        "t2d": ("BOOL", (VOCAB,), kept.tobytes()),
    }


def write(folder: Path, draft: Draft) -> None:
    """``config.json`` and ``model.safetensors``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(draft.config, indent=2))
    save(folder / WEIGHTS, draft.tensors, {"format": "pt"})


def recipe(folder: Path, draft: Draft, *, optional: Sequence[str] = ()) -> None:
    """A zoo beside ``folder`` whose recipe fits ``draft`` as it is now, for cases with ``"recipe": true``.

    ``optional`` are the tensors that its family leaves open and this file has. The recipe is written as JSON,
    which is YAML too.
    """
    root = folder.parent
    shutil.copytree(GOOD_ZOO, root, dirs_exist_ok=True)
    (root / "recipes" / "draft.yaml").write_text(json.dumps(_recipe(draft, optional), indent=2))
    profile = PROFILES[draft.family]
    (root / "recipes" / "profiles" / "one-gpu.yaml").write_text(json.dumps(profile, indent=2))


def on_vllm(folder: Path, *, caveats: Sequence[str] = ()) -> None:
    """Let vLLM serve the EAGLE3 draft of the recipe; ``caveats`` are those that the recipe mentions then."""
    recipes = folder.parent / "recipes"
    stated = {"model": "{draft}", "method": "eagle3", "num_speculative_tokens": 3}
    profile = _profile(
        "vllm==0.33.0", "vllm serve", "{target}", f"--speculative-config '{json.dumps(stated)}'"
    )
    (recipes / "profiles" / "one-gpu.yaml").write_text(json.dumps(profile, indent=2))
    described = json.loads((recipes / "draft.yaml").read_text()) | {"caveats": list(caveats)}
    (recipes / "draft.yaml").write_text(json.dumps(described, indent=2))


def _with_head(family: str, architecture: str, own: Mapping[str, Any], shapes: Shapes) -> Draft:
    """The DFlash draft of the kit with a head: keys in ``dflash_config``, and more tensors."""
    block = {"target_layer_ids": [0, 1, 2], "mask_token_id": 4, **own}
    whole = config(architectures=[architecture], dflash_config=block)
    return Draft(family, whole, draft_tensors() | _filled(shapes))


def _eagle_config(architecture: str, layers: int, draft_vocab: int, **more: Any) -> dict[str, Any]:
    absent = dict.fromkeys(("layer_types", "block_size", "num_target_layers", "dflash_config"))
    return config(
        architectures=[architecture],
        model_type="llama",
        num_hidden_layers=layers,
        draft_vocab_size=draft_vocab,
        eagle_config={"eagle_aux_hidden_state_layer_ids": [0, 1, 2]},
        **absent,
        **more,
    )


def _llama_layer(prefix: str, width: int) -> dict[str, tuple[int, ...]]:
    q, kv = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    return {
        f"{prefix}.input_layernorm.weight": (HIDDEN,),
        f"{prefix}.post_attention_layernorm.weight": (HIDDEN,),
        f"{prefix}.self_attn.q_proj.weight": (q, width),
        f"{prefix}.self_attn.k_proj.weight": (kv, width),
        f"{prefix}.self_attn.v_proj.weight": (kv, width),
        f"{prefix}.self_attn.o_proj.weight": (HIDDEN, q),
        f"{prefix}.mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{prefix}.mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
        f"{prefix}.mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
    }


def _filled(shapes: Shapes, seed: int = 1) -> dict[str, Tensor]:
    """bf16 normals of std 0.02, around 1 for a vector, always equal."""
    random = np.random.default_rng(seed)
    return {
        name: ("BF16", shape, bf16(random.normal(1.0 if len(shape) == 1 else 0.0, 0.02, shape)))
        for name, shape in shapes.items()
    }


def _recipe(draft: Draft, optional: Sequence[str]) -> dict[str, Any]:
    """The recipe of ``draft``: each config key where a recipe states it, the rest under draft.config."""
    rest = {key: value for key, value in draft.config.items() if key not in _STATED_ELSEWHERE}
    own = {**draft.config.get("dflash_config", {}), **draft.config.get("eagle_config", {})}
    ids = own.pop("target_layer_ids", None) or own.pop("eagle_aux_hidden_state_layer_ids", "unknown")
    mask = own.pop("mask_token_id", None)
    block = "eagle_config" if draft.family in ("eagle3", "peagle") else "dflash_config"
    described: dict[str, Any] = {
        "layers": draft.config["num_hidden_layers"],
        "aux_layers": {"ids": ids, "convention": "after-layer"},
        "rope": {"type": "default", "theta": 10000},
        "borrows": {
            name: "target" for name in ("embed_tokens", "lm_head") if f"{name}.weight" not in draft.tensors
        },
        "config": rest | ({block: own} if own else {}),
    }
    if mask is not None:
        described |= {"block_size": draft.config["block_size"], "mask_token": {"id": mask}}
    return {
        "recipe": 1,
        "name": "draft",
        "version": "1.0.0",
        "repo": "example/draft",
        "title": "The draft of the corpus",
        "summary": "A draft that nobody trained.",
        "license": {"id": "apache-2.0"},
        "target": "big",
        "checkpoint": {
            "source": "./draft",
            "family": draft.family,
            "tensors": len(draft.tensors),
            "dtype": "bfloat16",
            "files": {WEIGHTS: "weights", "config.json": "config"},
            "optional": list(optional),
        },
        "draft": described,
        "training": {
            "run": "draft",
            "export_of": {"checkpoint": "iter_0000384", "step": 383},
            "manifest": "unknown",
        },
        "caveats": list(CAVEATS.get(draft.family, ())),
        "serve": ["one-gpu"],
        "waivers": [
            {"code": code, "reason": reason, "until": "9999-12-31"}
            for code, reason in (WAIVED | WAIVED_OF_FAMILY.get(draft.family, {})).items()
        ],
    }


_STATED_ELSEWHERE = (
    "num_hidden_layers",
    "rope_theta",
    "dtype",
    "block_size",
    "num_target_layers",
    "dflash_config",
    "eagle_config",
)


def _profile(engine: str, command: str, *args: str) -> dict[str, Any]:
    return {
        "profile": 1,
        "name": "one-gpu",
        "engine": engine,
        "hardware": {"gpu": "H200", "count": 1},
        "command": command,
        "args": list(args),
    }


def _sglang(version: str, *speculative: str) -> dict[str, Any]:
    return _profile(
        f"sglang=={version}",
        "python -m sglang.launch_server",
        "--model-path {target}",
        *speculative,
        "--speculative-draft-model-path {draft}",
        "--max-running-requests 16",
    )


_BLOCK_OF_8 = ("--speculative-algorithm DFLASH", "--speculative-dflash-block-size 8")
_CHAIN_OF_3 = (
    "--speculative-algorithm EAGLE3",
    "--speculative-num-steps 3",
    "--speculative-eagle-topk 1",
    "--speculative-num-draft-tokens 4",
)
# A command per family that serves it. SGLang 0.5.14 has no DFlash2, Domino or DSpark, and no
# engine has P-EAGLE in this layout.
PROFILES: Mapping[str, dict[str, Any]] = {
    "dflash2": _sglang("0.5.23", *_BLOCK_OF_8),
    "domino": _sglang("0.5.23", *_BLOCK_OF_8),
    "dspark": _sglang("0.5.23", "--speculative-algorithm DSPARK", "--speculative-num-draft-tokens 9"),
    "eagle3": _sglang("0.5.14", *_CHAIN_OF_3),
    "peagle": _profile(
        "vllm==0.33.0",
        "vllm serve",
        "{target}",
        '--speculative-config \'{"model": "{draft}", "method": "peagle"}\'',
    ),
}
WAIVED = {"R020": "the corpus has no training run"}
WAIVED_OF_FAMILY = {"peagle": {"E022": "no engine that is known here serves this layout"}}
# The hazards of those commands that a recipe must mention.
CAVEATS: Mapping[str, tuple[str, ...]] = {"eagle3": ("E011",)}
