"""A C rule about single values that no draft can have, whatever it was trained with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

from zoo.results import Finding
from zoo.rules.config import against, name_of, place, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_POSITIVE = (
    "vocab_size max_position_embeddings num_target_layers sliding_window rms_norm_eps rope.theta rope.factor "
    "rope.original_max_position_embeddings rope.beta_fast rope.beta_slow rope.attention_factor "
    "rope.attn_factor dflash_config.output_multiplier dflash_config.swa_window_size "
    "dflash_config.final_logit_softcapping dflash_config.selector_top_k"
).split()
_LARGEST_EPSILON = 0.01
_SMALLEST_THETA = 1.0  # below it, frequencies grow with the dimension instead of falling
_NOT_ZERO = ("dflash_config.attention_value_scale", "logit_scale")
# What the three of transformers 5.8, SGLang and vLLM know between them.
_ROPES = (
    "default linear dynamic yarn llama3 longrope su proportional deepseek_yarn ntk mllama4 mrope "
    "bailing_mrope openpangu"
).split()


@rule("C075", "impossible-value", needs=("config",))
def impossible_value(subject: Subject) -> Iterable[Finding]:
    """A value of the config that no draft can have.

    What it does: wants the context length, the window, the numbers of a rope and the scale of DFlash2 to be
    above 0, the epsilon of the norms at most 0.01, rope theta above 1, the part of a head that rotates from
    0 to 1, an even head_dim, a window of at least a block, a selector that chooses among the vocabulary, no
    scale of 0, and the type of a rope to be one that engines know.
    Why is this bad: it decides no shape, so the draft loads; then the server dies at the first request, or
    every norm and every position is wrong.
    Example: "rms_norm_eps": 1 where 1e-6 was meant.
    Use instead: the value of the training config.
    Sources: sglang 0.5.14 and 0.5.23 layers/rotary_embedding/factory.py; vllm 0.33.0
    layers/rotary_embedding; transformers 5.8.1 modeling_rope_utils.py.
    Since: 0.1.0
    """
    for key, stated in subject.stated.items():
        for each in stated:
            if (wanted := _wanted(key, each.value) or _beside(subject, key, each.value)) is not None:
                message = f"{name_of(key)} is {shown(each.value)}, not {wanted}"
                hint = "write the value of the training config"
                yield Finding(message, hint, place(each.pointer), against(subject, key))


def _beside(subject: Subject, key: str, value: object) -> str | None:
    """What the value ought to be beside other values of the config, or None if it may be so."""
    if type(value) is not int:
        return None
    limits: dict[str, tuple[str, str, Callable[[int, int], bool]]] = {
        "sliding_window": ("block_size", "at least the block of", operator.ge),
        "dflash_config.swa_window_size": ("block_size", "at least the block of", operator.ge),
        "dflash_config.selector_top_k": ("vocab_size", "at most the vocabulary of", operator.le),
    }
    if key not in limits:
        return None
    other, wanted, fits = limits[key]
    for each in subject.stated.get(other, ())[:1]:
        if type(each.value) is int and not fits(value, each.value):
            return f"{wanted} {each.value:,}"
    return None


def _wanted(key: str, value: object) -> str | None:
    """What the value ought to be, or None if it may be so. Another type is C074's, except that of a key that
    engines turn into a number themselves."""
    if key == "partial_rotary_factor":
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1
        return None if number else "a number above 0 and at most 1"
    if key == "rope.type":
        unknown = isinstance(value, str) and value not in _ROPES
        return "a rope that engines know" if unknown else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if key in _NOT_ZERO and value == 0:
        return "another number than 0"
    if key == "head_dim" and isinstance(value, int) and value % 2:
        return "even: rope turns pairs of numbers"
    if key == "rope.theta" and 0 < value <= _SMALLEST_THETA:
        return f"above {_SMALLEST_THETA:g}"
    if key not in _POSITIVE:
        return None
    if value <= 0:
        return "above 0"
    too_large = key == "rms_norm_eps" and value > _LARGEST_EPSILON
    return f"at most {_LARGEST_EPSILON}" if too_large else None
