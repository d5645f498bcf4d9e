"""Variants of a draft: the neighbours of its declared config, and drafts that are known to be dead.

A declared config that is right is a local optimum: the weights were trained under it, and no neighbour does
better. A neighbour that does better is what the draft was really trained with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from zoo.replay.run import Draft, Reading, Recorded

# What transformers takes for YaRN where both mscale keys are equal, and what SGLang 0.5.14 takes for a factor
# of 64 (zoo rule E001).
AMPLITUDES = (1.0, 1.4159)
THETAS = (0.1, 10.0)
# Above this cosine two embeddings are the same to the draft: those of SmolLM2's masks 16 and 11 have 0.999997
# and give the same tokens, mask 17 costs most of the gain (docs/replay.md).
SAME_MASK = 0.99
_SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")
_SEED = 7


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of one thing. ``absent`` says why it cannot be run here, "" if it can. ``weights``: those of
    the draft where None. ``lag``: tokens by which the context is late."""

    name: str
    what: str
    reading: Reading | None = None
    weights: Mapping[str, Tensor] | None = None
    lag: int = 0
    absent: str = ""


def neighbours(draft: Draft, recorded: Recorded, declared: Reading) -> Iterator[Variant]:
    """Every neighbour of the declared config that could be what the draft was trained with."""
    for name, what, ids in _aux_layers(declared.aux_ids):
        yield _on_trace(name, what, replace(declared, aux_ids=ids), draft, recorded)
    yield Variant("lag-1", "context late by one token", declared, lag=1)
    for value in AMPLITUDES:
        if abs(value - declared.rope.amplitude) > 1e-3:
            rope = replace(declared.rope, amplitude=value)
            yield Variant(f"amplitude-{value:g}", f"rope amplitude {value:g}", replace(declared, rope=rope))
    for factor in THETAS:
        rope = draft.reading(declared.engine, with_theta(draft.config, factor)).rope
        yield Variant(f"theta-x{factor:g}", f"rope theta x {factor:g}", replace(declared, rope=rope))
    if hasattr(declared, "mask_token_id"):
        yield from _masks(draft, recorded, declared)
    if hasattr(declared, "norm_output"):
        yield _norm_output(declared)


def controls(draft: Draft, declared: Reading) -> Iterator[Variant]:
    """Drafts that cannot speculate: a gate that does not see them is dead."""
    import torch

    made = torch.Generator().manual_seed(_SEED)
    weights = draft.weights
    zeroed = {name: torch.zeros_like(tensor) for name, tensor in weights.items() if name == "fc.weight"}
    yield Variant("fc-zeroed", "fc.weight all zero", declared, {**weights, **zeroed})
    queries = {
        name: _noise(tensor, float(tensor.float().std()), made)
        for name, tensor in weights.items()
        if name.endswith(".q_proj.weight")
    }
    yield Variant("q-proj-random", "every q_proj random", declared, {**weights, **queries})
    yield Variant(
        "unloaded",
        "no tensor loaded, as with names that are prefixed",
        declared,
        {**weights, **unloaded(weights)},
    )


def unloaded(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors as an engine leaves them that finds no name: matrices as a new model has them
    (``initializer_range`` 0.02), norms at one. Maps of token ids stay out."""
    import torch

    made = torch.Generator().manual_seed(_SEED)
    return {
        name: _noise(tensor, 0.02, made) if tensor.dim() > 1 else torch.ones_like(tensor)
        for name, tensor in weights.items()
        if tensor.is_floating_point()
    }


def _noise(like: Tensor, deviation: float, made: Generator) -> Tensor:
    import torch

    drawn = torch.randn(like.shape, generator=made, dtype=torch.float32) * deviation
    return drawn.to(like.device, like.dtype)


def with_theta(config: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The config with rope theta multiplied, wherever it stands."""
    changed = dict(config)
    stated = False
    for block in ("rope_scaling", "rope_parameters"):
        found = config.get(block)
        if isinstance(found, Mapping) and found.get("rope_theta") is not None:
            changed[block] = {**found, "rope_theta": found["rope_theta"] * factor}
            stated = True
    if config.get("rope_theta") is not None or not stated:
        changed["rope_theta"] = (config.get("rope_theta") or 10000.0) * factor
    return changed


def _aux_layers(ids: tuple[int, ...]) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    for index, layer in enumerate(ids):
        for shift in (1, -1):
            moved = (*ids[:index], layer + shift, *ids[index + 1 :])
            yield f"aux-{layer}{shift:+d}", f"aux layer {layer} read as {layer + shift}", moved
    if len(ids) == 1:
        return
    for shift in (1, -1):
        yield f"aux-all{shift:+d}", f"all aux layers {shift:+d}", tuple(layer + shift for layer in ids)
    yield "fc-reversed", "columns of fc in reverse order", ids[::-1]
    if len(ids) > 2:
        yield "fc-rotated", "columns of fc with the last layer first", (ids[-1], *ids[:-1])


def _on_trace(name: str, what: str, reading: Reading, draft: Draft, recorded: Recorded) -> Variant:
    """The variant, or why the trace cannot make it."""
    wrong = [layer for layer in reading.aux_ids if not -1 <= layer < draft.target_layers]
    missing = sorted(set(reading.aux_ids) - set(recorded.trace.layers))
    absent = ""
    if wrong:
        absent = f"the target has no layer {wrong[0]}"
    elif missing:
        absent = f"the trace has no states after layer {', '.join(map(str, missing))} (--neighbours)"
    return Variant(name, what, reading, absent=absent)


def _norm_output(declared: Any) -> Variant:
    """The key that SpecForge and the engines read in two ways (docs/replay.md)."""
    fed = "before the norm" if declared.norm_output else "normed"
    other = replace(declared, norm_output=not declared.norm_output)
    return Variant("norm-output", f"the state fed back {fed}", other)


def _masks(draft: Draft, recorded: Recorded, declared: Any) -> Iterator[Variant]:
    """Other mask tokens: the ids beside it, and the special ids of the config. One with nearly the same
    embedding is no other mask."""
    from torch.nn.functional import cosine_similarity

    mask, rows = declared.mask_token_id, len(recorded.embed)
    special = [draft.config.get(key) for key in _SPECIAL]
    ids = [mask - 1, mask + 1, *(each for each in special if isinstance(each, int))]
    for token in dict.fromkeys(each for each in ids if 0 <= each < rows and each != mask):
        near = float(cosine_similarity(recorded.embed[token].float(), recorded.embed[mask].float(), dim=0))
        absent = f"its embedding is that of {mask} (cosine {near:.6f})" if near > SAME_MASK else ""
        yield Variant(
            f"mask-{token}", f"mask token {token}", replace(declared, mask_token_id=token), absent=absent
        )
