"""What the readings of all families ask of a config.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from zoo.engines.readings import EngineReading, known_or_refuse, reading_of
from zoo.engines.readings.hfconfig import read_by_transformers
from zoo.replay.reference import Engine, NoReferenceError
from zoo.replay.reference.layers import Sizes


@contextmanager
def values_with_a_meaning() -> Iterator[None]:
    """Turns what a value of the wrong kind leads to into a NoReferenceError: configs are untrusted input."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"a value of config.json has no meaning here ({type(error).__name__}: {error})"
        raise NoReferenceError(reason) from error


def with_defaults(config: Mapping[str, Any], model_type: str) -> dict[str, Any]:
    """The config with the defaults of its model type in transformers; ``model_type`` where it states one that
    transformers does not know, as the trainers' own classes do.

    Raises:
        NoReferenceError: a value that transformers refuses.
    """
    stated = config.get("model_type")
    kind = stated if stated in ("qwen3", "llama") else model_type
    seen, refusals = read_by_transformers({**config, "model_type": kind}, kind)
    if refusals:
        raise NoReferenceError(f"config.json is refused by transformers: {refusals[0].reason}")
    return seen


def engine_reading(
    config: Mapping[str, Any], engine: Engine | None, target_layers: int | None
) -> EngineReading | None:
    """What zoo knows of this engine version's reading of the config; None for the trainer's.

    Raises:
        NoReferenceError: nobody has read what it makes of this draft, or it refuses the config.
        UsageError: nobody has read this version.
    """
    if engine is None:
        return None
    known_or_refuse(*engine)
    made = reading_of(*engine, config, {}, target_layers=target_layers)
    name = f"{engine[0]} {engine[1]}"
    if not made.covered:
        raise NoReferenceError(f"{name}: {made.notes[0]}")
    # Without the file, its tensors are not judged here: only what the config alone decides.
    refused = [refusal for refusal in made.refusals if refusal.kind != "tensor"]
    if refused:
        raise NoReferenceError(f"{name} refuses this draft: {refused[0].reason}")
    return made


def tapped(made: EngineReading) -> tuple[int, ...]:
    """The layers of the target after which an engine takes states.

    Raises:
        NoReferenceError: it makes them up from a depth of the target that is not known.
    """
    if made.layer_ids is None or made.layer_ids.after is None:
        raise NoReferenceError(f"{made.name} makes up the aux layers, and the target's depth is not known")
    return made.layer_ids.after


def sizes_of(seen: Mapping[str, Any]) -> Sizes:
    """The dimensions of a layer.

    Raises:
        NoReferenceError: one is missing or no positive number, or the feed-forward is not a gated SiLU.
    """
    if seen.get("hidden_act", "silu") != "silu":
        raise NoReferenceError(f"no reference for hidden_act {seen['hidden_act']!r}")
    heads = integer(seen, "num_attention_heads")
    hidden = integer(seen, "hidden_size")
    return Sizes(
        hidden=hidden,
        intermediate=integer(seen, "intermediate_size"),
        heads=heads,
        key_heads=integer(seen, "num_key_value_heads") if seen.get("num_key_value_heads") else heads,
        head_dim=integer(seen, "head_dim") if seen.get("head_dim") else hidden // heads,
        eps=float(seen.get("rms_norm_eps", 1e-6)),
    )


def integer(seen: Mapping[str, Any], key: str) -> int:
    """A positive integer of the config.

    Raises:
        NoReferenceError: it is missing, or something else.
    """
    value = seen.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise NoReferenceError(f"config.json has no usable {key} ({value!r})")
    return value


def layer_ids(value: object, key: str) -> tuple[int, ...]:
    """A list of layers of the target.

    Raises:
        NoReferenceError: it is no list of integers from -1 (the embedding) on, or empty.
    """
    if not isinstance(value, list | tuple) or not value:
        raise NoReferenceError(f"config.json states no {key}")
    if not all(isinstance(each, int) and each >= -1 for each in value):
        raise NoReferenceError(f"{key} of config.json is {list(value)}, not a list of layers")
    return tuple(value)


def refuse_stated(keys: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    """Raises NoReferenceError where one of ``names`` is stated: it changes the forward pass."""
    for name in names:
        if keys.get(name):
            raise NoReferenceError(f"no reference for a draft that states {where}{name}")
