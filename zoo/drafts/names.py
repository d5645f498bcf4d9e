"""Foreign tensor names: what other frameworks call the tensors of a draft, and the rename that mends each.

An engine skips a name that it does not know without a word, so a draft with foreign names serves at an
accept length of 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

# TorchSpec says context_*, assistant exports say encoder.*; both are the fusion layer. ModelOpt and
# TensorRT-LLM write the heads of DSpark without their prefix. ``midlayer`` is the EAGLE3 spelling of layer 0.
_ALIASES = {
    "context_proj.weight": "fc.weight",
    "context_norm.weight": "hidden_norm.weight",
    "encoder.fc.weight": "fc.weight",
    "encoder.output_norm_enc.weight": "hidden_norm.weight",
    "markov_w1.weight": "markov_head.markov_w1.weight",
    "markov_w2.weight": "markov_head.markov_w2.weight",
    **{
        f"{name}.{part}": f"{head}.{part}"
        for name, head in (
            ("confidence_proj", "confidence_head.proj"),
            ("gate_proj", "markov_head.gate_proj"),
            ("joint_proj", "markov_head.joint_proj"),
        )
        for part in ("weight", "bias")
    },
}
_FUSED = {"qkv_proj": "q_proj, k_proj and v_proj", "gate_up_proj": "gate_proj and up_proj"}
_LEFTOVERS = re.compile(r"rotary_emb\.inv_freq$|(^|\.)verifier_(lm_head|norm)\.|(^|\.)(t2d|d2t)$")
_BORROWED = re.compile(r"(^|\.)(embed_tokens|lm_head)\.weight$")


@dataclass(frozen=True, slots=True)
class Foreign:
    """What is known of an unexpected name. ``native`` is the expected name that it stands for, if any;
    ``pattern`` what is foreign about it, the same for all names with one cause; ``advice`` the way out."""

    native: str | None
    pattern: str
    advice: str


def explain(name: str, expected: Collection[str]) -> Foreign | None:
    """What the unexpected tensor ``name`` is, or None if it is nothing known."""
    head = name
    prefix = ""
    while True:
        # Inside a layer gate_proj is the MLP's, not the Markov head's.
        alias = None if "layers." in prefix else _ALIASES.get(head)
        native = alias or (head if head in expected else re.sub(r"^midlayer\.", "layers.0.", head))
        if native in expected and native != name:
            return _renamed(prefix, head, native)
        if "." not in head:
            break
        part, _, head = head.partition(".")
        prefix += part + "."
    for fused, parts in _FUSED.items():
        if f".{fused}." in name:
            return Foreign(None, f"fused {fused}", f"split it into {parts}")
    if _BORROWED.search(name):
        return Foreign(None, "borrowed from the target", "remove it: the engine uses the target's")
    if _LEFTOVERS.search(name):
        return Foreign(None, "left over from training", "remove it: no engine reads it for this family")
    return None


def _renamed(prefix: str, head: str, native: str) -> Foreign:
    if head == native:
        return Foreign(native, f'prefix "{prefix}"', f'strip the prefix "{prefix}"')
    return Foreign(
        native, f'name "{head}"' + (f' under "{prefix}"' if prefix else ""), f"rename it to {native}"
    )
