"""The parameters that a draft class of an engine builds, and what its weight loaders do with a tensor.

Engines fuse q, k, v and gate, up; the parts keep the names that a file gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, NamedTuple

from zoo.engines.readings.model import Fate, Missing, Refusal

# How a weight loader treats a shape. "exact": it must be equal. "rows", "columns": the engine cuts its share
# out of dimension 0 or 1 before it compares, so a tensor that is too large there is cut without a word.
# "vocabulary": dimension 0 must be the vocabulary.
Rule = Literal["exact", "rows", "columns", "vocabulary"]


class Part(NamedTuple):
    """A tensor as a file holds it: its name in the engine's own layout, and its shape [out, in]."""

    name: str
    shape: tuple[int, ...]


class Parameter(NamedTuple):
    """One parameter of the engine; ``parts`` maps a shard ("" where it is not fused) to what fills it. One
    that is not ``used`` is built and never computed with: it may hold anything."""

    parts: Mapping[str, Part]
    rule: Rule = "exact"
    unfilled: Missing = Missing.RANDOM
    used: bool = True


def whole(name: str, *shape: int, rule: Rule = "exact", unfilled: Missing = Missing.RANDOM) -> Parameter:
    return Parameter({"": Part(name, shape)}, rule, unfilled)


def attention(
    prefix: str, seen: Mapping[str, Any], width: int, *, norms: bool, biases: str
) -> dict[str, Parameter]:
    """Fused attention that reads ``width``; ``biases`` names the projections that have one ("qkvo")."""
    hidden, heads = seen["hidden_size"], seen["num_attention_heads"]
    head = seen.get("head_dim", hidden // heads)
    rows = {"q": heads * head, "k": seen.get("num_key_value_heads", heads) * head}
    rows["v"] = rows["k"]
    parts = {key: Part(f"{prefix}.{key}_proj.weight", (size, width)) for key, size in rows.items()}
    made = {
        f"{prefix}.qkv_proj.weight": Parameter(parts, "rows"),
        f"{prefix}.o_proj.weight": whole(f"{prefix}.o_proj.weight", hidden, rows["q"], rule="columns"),
    }
    if "q" in biases:
        parts = {key: Part(f"{prefix}.{key}_proj.bias", (size,)) for key, size in rows.items()}
        made[f"{prefix}.qkv_proj.bias"] = Parameter(parts, "rows")
    if "o" in biases:
        made[f"{prefix}.o_proj.bias"] = whole(f"{prefix}.o_proj.bias", hidden)
    if norms:
        for norm in ("q_norm", "k_norm"):
            made[f"{prefix}.{norm}.weight"] = whole(f"{prefix}.{norm}.weight", head)
    return made


def mlp(prefix: str, seen: Mapping[str, Any]) -> dict[str, Parameter]:
    hidden, inner = seen["hidden_size"], seen["intermediate_size"]
    gate_up = {
        "0": Part(f"{prefix}.gate_proj.weight", (inner, hidden)),
        "1": Part(f"{prefix}.up_proj.weight", (inner, hidden)),
    }
    return {
        f"{prefix}.gate_up_proj.weight": Parameter(gate_up, "rows"),
        f"{prefix}.down_proj.weight": whole(f"{prefix}.down_proj.weight", hidden, inner, rule="columns"),
    }


def mlp_biases(prefix: str, seen: Mapping[str, Any]) -> dict[str, Parameter]:
    hidden, inner = seen["hidden_size"], seen["intermediate_size"]
    gate_up = {"0": Part(f"{prefix}.gate_proj.bias", (inner,)), "1": Part(f"{prefix}.up_proj.bias", (inner,))}
    return {
        f"{prefix}.gate_up_proj.bias": Parameter(gate_up, "rows"),
        f"{prefix}.down_proj.bias": whole(f"{prefix}.down_proj.bias", hidden),
    }


def norms(prefix: str, names: Iterable[str], size: int) -> dict[str, Parameter]:
    return {f"{prefix}{name}.weight": whole(f"{prefix}{name}.weight", size) for name in names}


def unused(made: Mapping[str, Parameter], *names: str) -> dict[str, Parameter]:
    """The same parameters, of which the forward pass does not use ``names``."""
    return {name: each._replace(used=each.used and name not in names) for name, each in made.items()}


def prefixed(prefix: str, made: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The same parameters in a submodule; the names of the parts stay those of the file."""
    return {prefix + name: parameter for name, parameter in made.items()}


@dataclass
class Load:
    """One run of an engine's weight loader over the tensors of a file."""

    parameters: Mapping[str, Parameter]
    source: str
    pads: bool = False
    fates: dict[str, Fate] = field(default_factory=dict)
    filled: set[tuple[str, str]] = field(default_factory=set)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def put(self, tensor: str, shape: tuple[int, ...], parameter: str, shard: str = "") -> None:
        """Load ``tensor`` into a parameter or one of its shards; without a shard, a fused parameter takes a
        tensor that is fused already."""
        target = self.parameters[parameter]
        fused = shard == "" and "" not in target.parts
        shards = list(target.parts) if fused else [shard]
        wanted = _stacked([target.parts[key].shape for key in shards])
        problem, change = fits(shape, wanted, target.rule, pads=self.pads and self._can_pad(target, shard))
        if problem:
            self.refuse(tensor, f"{tensor} is {_dims(shape)}, {problem}")
            return
        if change:
            self.notes.append(f"{tensor} is {_dims(shape)} and is {change} to {_dims(wanted)} without a word")
        self.fates[tensor] = Fate.READ
        self.filled |= {(parameter, key) for key in shards}

    def _can_pad(self, target: Parameter, shard: str) -> bool:
        """Row-parallel weights, and gate and up one by one."""
        return target.rule == "columns" or (target.rule == "rows" and shard in ("0", "1"))

    def refuse(self, tensor: str, reason: str) -> None:
        self.fates[tensor] = Fate.REFUSED
        self.refusals.append(Refusal("tensor", reason, self.source, tensor))

    def missing(self) -> dict[str, Missing]:
        """What no tensor filled, by the name that a file would give it."""
        return {
            part.name: parameter.unfilled if parameter.used else Missing.UNUSED
            for name, parameter in self.parameters.items()
            for shard, part in parameter.parts.items()
            if (name, shard) not in self.filled
        }


def fits(
    shape: tuple[int, ...], wanted: tuple[int, ...], rule: Rule, *, pads: bool = False
) -> tuple[str, Literal["", "cut", "padded"]]:
    """Why a tensor of ``shape`` does not go into a parameter of shape ``wanted`` ("" if it does), and what is
    done to it on the way. ``pads``: a tensor that is too small where another would be cut gets zeros."""
    problem = f"the engine wants {_dims(wanted)}"
    if shape == wanted or (rule == "exact" and prod(shape) == prod(wanted) == 1):
        return "", ""
    axis = 1 if rule == "columns" else 0
    if rule in ("exact", "vocabulary") or len(shape) != len(wanted):
        return problem, ""
    if (*shape[:axis], *shape[axis + 1 :]) != (*wanted[:axis], *wanted[axis + 1 :]):
        return problem, ""
    if shape[axis] > wanted[axis]:
        return "", "cut"
    return ("", "padded") if pads else (problem, "")


def _stacked(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    return (sum(shape[0] for shape in shapes), *shapes[0][1:]) if len(shapes) > 1 else shapes[0]


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
