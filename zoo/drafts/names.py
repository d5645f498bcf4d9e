"""Foreign tensor names: what other frameworks call the tensors of a draft, and the rename that mends each.

An engine skips a name that it does not know without a word, so a draft with foreign names serves at an
accept length of 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from zoo.printable import quoted

# TorchSpec says context_*, assistant exports say encoder.*; both are the fusion layer. ModelOpt and
# TensorRT-LLM write the heads of DSpark without their prefix. The norms of the aux layers have had names
# instead of numbers, and the codebooks of DFlash2 are bare parameters.
_ALIASES = {
    "context_proj.weight": "fc.weight",
    "context_norm.weight": "hidden_norm.weight",
    "encoder.fc.weight": "fc.weight",
    "encoder.output_norm_enc.weight": "hidden_norm.weight",
    "aux_norm_low.weight": "fc_norm.0.weight",
    "aux_norm_mid.weight": "fc_norm.1.weight",
    "aux_norm_high.weight": "fc_norm.2.weight",
    "candidate_selector.predecessor_codebook.weight": "candidate_selector.predecessor_codebook",
    "candidate_selector.successor_codebook.weight": "candidate_selector.successor_codebook",
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
# Both are spellings of the first layer of an EAGLE3 draft.
_SPELLINGS = ("midlayer.", "layers.0.")
_FUSED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}
_LEFTOVERS = re.compile(r"rotary_emb\.inv_freq$|(^|\.)verifier_(lm_head|norm)\.|(^|\.)(t2d|d2t)$")
_BORROWED = re.compile(r"(^|\.)(embed_tokens|lm_head)\.weight$")


class Foreign(NamedTuple):
    """What is known of an unexpected name.

    ``native`` is the expected name that it stands for, if any; ``parts`` those that are fused in it, in the
    order of their rows; ``pattern`` what is foreign about it, the same for all names with one cause;
    ``advice`` the way out; ``copy_of`` the tensor that is there under its right name as well.
    """

    native: str | None
    pattern: str
    advice: str
    parts: tuple[str, ...] = ()
    copy_of: str | None = None


def second(native: str) -> Foreign:
    """A tensor whose right name ``native`` another tensor of the file has."""
    advice = f"remove it: {native} is there, too, and an engine keeps the one that it reads last"
    return Foreign(None, f"a second {quoted(native)}", advice, copy_of=native)


def explain(name: str, expected: Collection[str]) -> Foreign | None:
    """What the unexpected tensor ``name`` is, or None if it is nothing known."""
    found = _native(name, expected)
    if found is not None:
        return _renamed(*found)
    for fused, parts in _FUSED.items():
        if f".{fused}." in name:
            stands_for = [_native(name.replace(f".{fused}.", f".{part}."), expected) for part in parts]
            whole = tuple(each[2] for each in stands_for if each is not None)
            advice = f"split it into {', '.join(parts[:-1])} and {parts[-1]}"
            return Foreign(None, f"fused {fused}", advice, whole if len(whole) == len(parts) else ())
    if _BORROWED.search(name):
        return Foreign(None, "borrowed from the target", "remove it: the engine uses the target's")
    if _LEFTOVERS.search(name):
        return Foreign(None, "left over from training", "remove it: no engine reads it for this family")
    return None


def _native(name: str, expected: Collection[str]) -> tuple[str, str, str] | None:
    """The expected name that ``name`` stands for, after the prefix and the foreign name that make it up."""
    prefix, head = "", name
    while True:
        # Inside a layer gate_proj is the MLP's, not the Markov head's.
        alias = None if "layers." in prefix else _ALIASES.get(head)
        for native in (alias, head, _respelled(head)):
            if native is not None and native in expected:
                return prefix, head, native
        if "." not in head:
            return None
        part, _, head = head.partition(".")
        prefix += part + "."


def _respelled(name: str) -> str | None:
    """A tensor of the first layer in the other of its two spellings."""
    for one, other in (_SPELLINGS, _SPELLINGS[::-1]):
        if name.startswith(one):
            return other + name.removeprefix(one)
    return None


def _renamed(prefix: str, head: str, native: str) -> Foreign:
    if head == native:
        return Foreign(native, f"prefix {quoted(prefix)}", f"strip the prefix {quoted(prefix)}")
    under = f" under {quoted(prefix)}" if prefix else ""
    if native == _respelled(head):
        one, other = _SPELLINGS if native.startswith(_SPELLINGS[1]) else _SPELLINGS[::-1]
        pattern = f"{quoted(one)} for {quoted(other)}{under}"
        return Foreign(native, pattern, f"rename {one} to {other}")
    return Foreign(native, f"name of another framework{under}", f"rename it to {native}")
