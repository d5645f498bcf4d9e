"""Readings in words: one or a few sentences per engine, and the groups of tensors that they speak of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from zoo.engines.readings.model import EngineReading, Fate, Missing
from zoo.printable import quoted

# What a tensor belongs to, in the order in which it is tried; the last one takes what is left.
_GROUPS = (
    ("the Markov head", r"markov_head\.|markov_w[12]\.|^(gate|joint)_proj\."),
    ("the confidence head", r"confidence_(head|proj)\."),
    ("the Domino projector", r"prefix_gru\.|embed_proj\."),
    ("the candidate selector", r"candidate_selector\."),
    ("the convolutions", r"(attention|mlp)_conv\."),
    ("the vocabulary maps", r"(^|\.)(d2t|t2d)$"),
    ("the mask vector", r"mask_(hidden|embedding)"),
    ("the embedding", r"embed_tokens\."),
    ("the head", r"lm_head\."),
    ("the output norm", r"(^|\.)norm\.weight$"),
    ("the layers", r"layers\.\d+\.|midlayer\."),
    ("the fusion layer", r"(^|\.)(fc|fc_norm|hidden_norm|input_norm|context_proj|context_norm|encoder|aux_)"),
    ("other tensors", ""),
)
TITLES = {"sglang": "SGLang", "vllm": "vLLM"}
SHOWN = 3


def title(reading: EngineReading) -> str:
    """``SGLang 0.5.14``."""
    return f"{TITLES[reading.engine]} {reading.version}"


def group_of(tensor: str) -> str:
    return next(label for label, pattern in _GROUPS if re.search(pattern, tensor))


def grouped(tensors: Iterable[str]) -> dict[str, list[str]]:
    """The tensors by group, in the order of the groups that people know first: body, then heads."""
    found: dict[str, list[str]] = {}
    for tensor in tensors:
        found.setdefault(group_of(tensor), []).append(tensor)
    order = [label for label, _ in reversed(_GROUPS[:-1])] + [_GROUPS[-1][0]]
    return {label: found[label] for label in order if label in found}


def spoken(tensors: Iterable[str], whole: Collection[str] = ()) -> str:
    """``the Markov head and the confidence head``. Tensors of which ``whole``, all that the draft has, holds
    more of the same group are no group: a few go by their names, many by their number."""
    parts: list[str] = []
    for label, members in grouped(tensors).items():
        all_of_it = len(members) >= sum(group_of(name) == label for name in whole)
        if all_of_it and (len(members) > SHOWN or label not in ("other tensors", "the layers")):
            parts.append(label)
        elif len(members) <= SHOWN:
            parts += [quoted(name) for name in members]
        else:
            parts.append(f"{len(members)} tensors of {label}")
    return joined(parts)


def sentences(reading: EngineReading) -> list[str]:
    """What the engine makes of the draft, in whole sentences, the worst first."""
    name = title(reading)
    if not reading.covered:
        return [f"{name}: {reading.notes[0]}."]
    if reading.refusals:
        lines = [f"{name} refuses to start: {refusal.reason}." for refusal in reading.refusals[:SHOWN]]
        more = len(reading.refusals) - SHOWN
        rest = "one more reason" if more == 1 else f"{more} more reasons"
        return lines if more <= 0 else [*lines, f"{name}: and {rest}."]
    said = [
        *(f"{name} {fault}." for fault in reading.faults),
        *_ignored(name, reading),
        *_unfilled(name, reading),
        *_read(name, reading),
        *_layers(name, reading),
        *(f"{name}: {note}." for note in reading.notes),
    ]
    if reading.ignored_keys:
        said.append(
            f"{name} never looks at {joined([quoted(key) for key in reading.ignored_keys])} of config.json."
        )
    return said


def _ignored(name: str, reading: EngineReading) -> list[str]:
    ignored = reading.tensors(Fate.IGNORED)
    if not ignored:
        return []
    return [f"{name} will ignore {_count(ignored)} of this file: {spoken(ignored, reading.fates)}."]


def _unfilled(name: str, reading: EngineReading) -> list[str]:
    lines = []
    random = [tensor for tensor, held in reading.missing.items() if held is Missing.RANDOM]
    if random:
        lines.append(
            f"{name} finds no tensor for {_count(random, 'parameter')}, "
            f"which {'keeps' if len(random) == 1 else 'keep'} what was in memory: {_some(random)}."
        )
    default = [tensor for tensor, held in reading.missing.items() if held is Missing.DEFAULT]
    if "d2t" in default:
        lines.append(f"{name} finds no d2t and takes the ids of the draft for those of the target.")
    rest = [tensor for tensor in default if tensor != "d2t"]
    if rest:
        lines.append(f"{name} finds no tensor for {_some(rest)} and keeps the value it was built with.")
    return lines


def _read(name: str, reading: EngineReading) -> list[str]:
    read, total = reading.tensors(Fate.READ), len(reading.fates)
    how = "all" if len(read) == total else f"{len(read)} of"
    parts = [f"{name} reads {how} {total} tensors"] if total else [f"{name} has no tensor to read"]
    borrowed = [*reading.tensors(Fate.BORROWED)]
    borrowed += [tensor for tensor, held in reading.missing.items() if held is Missing.BORROWED]
    if borrowed:
        plain = [tensor.removeprefix("model.").removesuffix(".weight") for tensor in borrowed]
        parts.append(f"{joined(plain)} {'is' if len(plain) == 1 else 'are'} borrowed from the target")
    skipped = reading.tensors(Fate.SKIPPED)
    if skipped:
        parts.append(f"it does not need {spoken(skipped) if len(skipped) > SHOWN else _some(skipped)}")
    return ["; ".join(parts) + "."]


def _layers(name: str, reading: EngineReading) -> list[str]:
    ids = reading.layer_ids
    if ids is None or not ids.guessed:
        return []
    guess = f": {', '.join(map(str, ids.after))}" if ids.after else ""
    return [f"{name} guesses the target layers it taps{guess}; the config does not tell it."]


def _count(names: list[str], noun: str = "tensor") -> str:
    return f"{len(names)} {noun}" + ("" if len(names) == 1 else "s")


def _some(names: list[str]) -> str:
    shown = ", ".join(quoted(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def joined(parts: Sequence[str], word: str = "and") -> str:
    """``a, b and c``; "" for nothing."""
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)
