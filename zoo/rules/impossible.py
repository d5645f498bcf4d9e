"""A C rule about single values that no draft can have, whatever it was trained with."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.results import Finding
from zoo.rules.config import against, name_of, place, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_POSITIVE = (
    "vocab_size max_position_embeddings num_target_layers sliding_window rms_norm_eps rope.theta rope.factor "
    "rope.original_max_position_embeddings rope.beta_fast rope.beta_slow rope.attention_factor "
    "rope.attn_factor dflash_config.output_multiplier dflash_config.swa_window_size"
).split()
_LARGEST_EPSILON = 0.01
# What the three of transformers 5.8, SGLang and vLLM know between them.
_ROPES = (
    "default linear dynamic yarn llama3 longrope su proportional deepseek_yarn ntk mllama4 mrope "
    "bailing_mrope openpangu"
).split()


@rule("C075", "impossible-value", needs=("config",))
def impossible_value(subject: Subject) -> Iterable[Finding]:
    """A value of the config that no draft can have.

    What it does: wants the context length, the window, the numbers of a rope and the scale of DFlash2 to be
    above 0, the epsilon of the norms at most 0.01, and the type of a rope to be one that engines know.
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
            if (wanted := _wanted(key, each.value)) is not None:
                message = f"{name_of(key)} is {shown(each.value)}, not {wanted}"
                hint = "write the value of the training config"
                yield Finding(message, hint, place(each.pointer), against(subject, key))


def _wanted(key: str, value: object) -> str | None:
    """What the value ought to be, or None if it may be so. Another type is C074's."""
    if key == "rope.type":
        unknown = isinstance(value, str) and value not in _ROPES
        return "a rope that engines know" if unknown else None
    if key not in _POSITIVE or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if value <= 0:
        return "above 0"
    too_large = key == "rms_norm_eps" and value > _LARGEST_EPSILON
    return f"at most {_LARGEST_EPSILON}" if too_large else None
