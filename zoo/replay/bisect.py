"""Which difference between two drafts explains that one is worse: parts of the good one are put into the bad
one, under replay.

A *part* is a key of config.json, or a group of tensors (a layer's attention, its feed-forward, its norms; any
other tensor is a group of its own). Parts that were trained together do not work apart, so that after a real
fine-tune no small set explains the gain; after a fault in export, conversion or config, one does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zoo.errors import UnreadableError, UsageError
from zoo.printable import quoted
from zoo.replay.acceptance import pooled
from zoo.replay.reference import NoReferenceError
from zoo.replay.run import Row, run
from zoo.replay.statistics import Paired, paired
from zoo.replay.variants import unloaded

if TYPE_CHECKING:
    from torch import Tensor

    from zoo.replay.run import Draft, Recorded

# A set of parts explains a loss if it recovers so much of it.
EXPLAINS = 0.9
_BLOCKS = ("dflash_config", "eagle_config", "rope_scaling", "rope_parameters")
_LAYER = re.compile(r"(.*layers\.\d+|midlayer)\.(self_attn\.[qkvo]_proj|mlp|.*norm)")


@dataclass(frozen=True, slots=True)
class Part:
    """``keys`` are paths in config.json, ``tensors`` names; one of them is empty."""

    name: str
    keys: tuple[tuple[str, ...], ...] = ()
    tensors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """``good`` and ``bad``: accept lengths at every anchor. ``loss`` is the change from one to the other.
    ``recovers``: each part alone, as a share of the loss. ``smallest``: parts that together explain it, none
    of which can be left out; empty where there is no loss. ``together``: what they recover."""

    good: float
    bad: float
    loss: Paired
    recovers: tuple[tuple[Part, float], ...]
    smallest: tuple[Part, ...]
    together: float


def bisect(good: Draft, bad: Draft, recorded: Recorded, told: Callable[[], None] = lambda: None) -> Found:
    """Raises:
    UsageError: the drafts have tensors of other shapes, or the good one accepts nothing.
    """
    bad = replace(bad, weights=_filled(good, bad))
    parts = list(differences(good, bad))
    rows, others = run(good.made(good.reading()), recorded), _rows(bad, recorded)
    accepted = [row.accepted for row in rows]
    if not sum(accepted):
        raise UsageError("the first draft has nothing accepted", hint="name the good one first")
    poor = [row.accepted for row in others] or [0.0] * len(accepted)
    loss = paired(accepted, poor, 0.0)
    gap = sum(accepted) - sum(poor)
    lengths = pooled(row.every for row in rows), pooled(row.every for row in others)
    means = lengths[0].accept_length, lengths[1].accept_length
    if loss.high >= 0 or not parts:  # nothing that could be told from noise
        return Found(*means, loss, (), (), 0.0)
    known: dict[frozenset[str], float] = {}

    def share(chosen: Sequence[Part]) -> float:
        names = frozenset(part.name for part in chosen)
        if names not in known:
            told()
            mended = [row.accepted for row in _rows(mixed(good, bad, chosen), recorded)]
            known[names] = (sum(mended) - sum(poor)) / gap if mended else 0.0
        return known[names]

    alone = sorted(((part, share([part])) for part in parts), key=lambda each: -each[1])
    smallest = _smallest(parts, alone, share)
    finer = [single for part in smallest for single in _singles(part)]
    smallest = _without_the_idle(finer, share) if len(finer) > len(smallest) else finer
    return Found(*means, loss, tuple(alone), tuple(smallest), share(smallest))


def differences(good: Draft, bad: Draft) -> Iterator[Part]:
    """The parts in which the two differ. Keys of config.json count where the two are read differently."""
    import torch

    if good.reading() != _reading(bad):
        ours, theirs = _paths(good.config), _paths(bad.config)
        for path in sorted(ours.keys() | theirs.keys()):
            if ours.get(path) != theirs.get(path):
                yield Part(f"config.json {'.'.join(path)}", keys=(path,))
    groups: dict[str, list[str]] = {}
    for name, tensor in good.weights.items():
        if not torch.equal(tensor, bad.weights[name]):
            groups.setdefault(_group(name), []).append(name)
    for name, members in groups.items():
        yield Part(name, tensors=tuple(members))


def mixed(good: Draft, bad: Draft, parts: Sequence[Part]) -> Draft:
    """The bad draft with these parts of the good one."""
    config, weights = dict(bad.config), dict(bad.weights)
    for part in parts:
        weights |= {name: good.weights[name] for name in part.tensors}
        for path in part.keys:
            config = _taken(config, good.config, path)
    return replace(bad, config=config, weights=weights)


def values(draft: Draft, part: Part) -> list[Any]:
    """What a draft states at the keys of a part; None where it states nothing."""
    return [_paths(draft.config).get(path) for path in part.keys]


def _smallest(
    parts: Sequence[Part], alone: Sequence[tuple[Part, float]], share: Callable[[Sequence[Part]], float]
) -> list[Part]:
    best, recovered = alone[0]
    if recovered >= EXPLAINS:
        return [best]
    return _without_the_idle([part for part, _ in reversed(alone)], share)


def _without_the_idle(parts: Sequence[Part], share: Callable[[Sequence[Part]], float]) -> list[Part]:
    """Leave out one part after the other for as long as the rest still explains the loss."""
    kept = list(parts)
    for part in parts:
        rest = [each for each in kept if each is not part]
        if rest and share(rest) >= EXPLAINS:
            kept = rest
    return kept


def _singles(part: Part) -> list[Part]:
    return [Part(name, tensors=(name,)) for name in part.tensors] or [part]


def _group(name: str) -> str:
    found = _LAYER.match(name)
    if found is None:
        return name
    kind = found[2].rpartition(".")[2]
    word = "mlp" if found[2].startswith("mlp") else "norms" if kind.endswith("norm") else "attention"
    return f"{found[1]} {word}"


def _filled(good: Draft, bad: Draft) -> Mapping[str, Tensor]:
    """The bad draft's tensors; one that it lacks is what an engine leaves there, which never loads it."""
    absent = {name: tensor for name, tensor in good.weights.items() if name not in bad.weights}
    filled = {**bad.weights, **unloaded(absent)}
    for name, tensor in good.weights.items():
        if filled[name].shape != tensor.shape:
            raise UsageError(
                f"{quoted(name)} has the shape {list(tensor.shape)} in one draft and "
                f"{list(filled[name].shape)} in the other",
                hint="bisect compares drafts of one inventory; see: zoo diff GOOD BAD",
            )
    return filled


def _rows(draft: Draft, recorded: Recorded) -> tuple[Row, ...]:
    """What a mixture gives; nothing where it cannot run."""
    try:
        return run(draft.made(draft.reading()), recorded)
    except (NoReferenceError, UnreadableError):
        return ()


def _reading(draft: Draft) -> object:
    try:
        return draft.reading()
    except NoReferenceError as error:
        return error.message


def _paths(config: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """The config as path -> value, the known blocks key by key."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in config.items():
        if key in _BLOCKS and isinstance(value, Mapping):
            found |= {(key, each): inner for each, inner in value.items()}
        else:
            found[(key,)] = value
    return found


def _taken(config: dict[str, Any], other: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """``config`` with what ``other`` has at ``path``, also if that is nothing."""
    changed = dict(config)
    target, source = changed, other
    for key in path[:-1]:
        held = changed.get(key)
        target = dict(held) if isinstance(held, Mapping) else {}
        changed[key] = target
        block = other.get(key)
        source = block if isinstance(block, Mapping) else {}
    if path[-1] in source:
        target[path[-1]] = source[path[-1]]
    else:
        target.pop(path[-1], None)
    return changed
