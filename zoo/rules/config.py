"""C rules about config.json against the recipe, both ways. (``config_alone`` holds those about the file
itself.)

Engines guess what a config does not say (SGLang 0.5.14 guesses aux layers, and falls back to a block size
of 16), so a key that an engine reads must be stated, with the value of the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from zoo.checkpoint.model import Checkpoint
from zoo.drafts.keys import DIFFUSION, Stated
from zoo.printable import quoted
from zoo.recipe.config import config_of, recipe_pointer
from zoo.recipe.model import Recipe
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

CONFIG = "config.json"
BOTH = ("recipe", "config")
_DIMENSIONS = frozenset(
    (
        "hidden_size intermediate_size num_attention_heads num_key_value_heads head_dim "
        "num_hidden_layers vocab_size attention_bias max_position_embeddings draft_vocab_size "
        "target_hidden_size num_aux_hidden_states"
    ).split()
)
_GROUPS: dict[str, Callable[[str], bool]] = {
    "dimensions": _DIMENSIONS.__contains__,
    "block size": lambda key: key == "block_size",
    "aux layers": lambda key: key == "target_layer_ids",
    "target depth": lambda key: key == "num_target_layers",
    "mask token": lambda key: key in ("mask_token_id", "dflash_config.mask_token"),
    "attention window": lambda key: (
        key in ("layer_types", "sliding_window", "use_sliding_window", "is_causal")
    ),
    "rope": lambda key: key.startswith("rope"),
    "architecture": lambda key: key in ("architectures", "model_type"),
}


def parts(subject: Subject) -> tuple[Recipe, Checkpoint, Mapping[str, tuple[Stated, ...]]]:
    """Recipe, checkpoint and the config as an engine sees it. Only for rules that need recipe and config."""
    assert subject.recipe is not None
    assert subject.checkpoint is not None
    return subject.recipe, subject.checkpoint, subject.stated


def place(pointer: str = "") -> Where:
    """A place in config.json."""
    return Where(CONFIG, pointer=pointer or None)


def against(subject: Subject, key: str) -> tuple[Where, ...]:
    """The line of the recipe that states the canonical key ``key``, where there is a recipe."""
    if subject.recipe is None:
        return ()
    if key == "num_target_layers":
        return (subject.recipe.target.where("/layers"),)
    return (subject.recipe.where(recipe_pointer(subject.recipe, key)),)


def same(one: Any, other: Any) -> bool:
    """Whether two config values mean the same: 32 and 32.0 do, 1 and true do not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def contradictions(subject: Subject, wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Where config.json and recipe differ in a key that ``wanted`` takes: other value, missing, or not in
    the recipe."""
    recipe, _, actual = parts(subject)
    stated = subject.keys.stated(config_of(recipe))
    for key in sorted(set(stated) | set(actual)):
        if not wanted(key):
            continue
        where = recipe.where(recipe_pointer(recipe, key))
        if key == "num_target_layers":
            where = recipe.target.where("/layers")
        if key not in actual:
            hint = f"add it to {CONFIG}: the recipe says {shown(stated[key][0].value)}"
            yield Finding(f"{CONFIG} does not state {name_of(key)}", hint, place(), (where,))
        elif key not in stated:
            if subject.keys.is_read(key):
                found = actual[key][0]
                hint = "state it in the recipe under draft.config, or remove it from config.json"
                message = (
                    f"{CONFIG} sets {name_of(key)} to {shown(found.value)}; the recipe does not state it"
                )
                yield Finding(message, hint, place(found.pointer), (where,))
        elif not same(actual[key][0].value, stated[key][0].value) or _is_float_of_int(
            key, actual[key][0].value, stated[key][0].value
        ):
            found, expected = actual[key][0], stated[key][0].value
            here, there = shown(found.value), shown(expected)
            if here == there:  # as "8" and 8
                here, there = f"{here} ({kind(type(found.value))})", f"{there} ({kind(type(expected))})"
            message = f"{CONFIG} says {name_of(key)} is {here}, the recipe says {there}"
            hint = "find out with which value the draft was trained, and mend the other"
            yield Finding(message, hint, place(found.pointer), (where,))


def _is_float_of_int(key: str, actual: Any, stated: Any) -> bool:
    """Whether config.json writes a count as a float: engines index with it. Rope keys may be either."""
    return isinstance(stated, int) and isinstance(actual, float) and not key.startswith("rope")


def _group(name: str, subject: Subject) -> Iterator[Finding]:
    return contradictions(subject, _GROUPS[name])


def name_of(key: str) -> str:
    """A canonical key as people say it."""
    return quoted(key.replace("rope.", "rope "))


def shown(value: Any) -> str:
    """A config value, quoted and cut."""
    return quoted(str(value).lower() if isinstance(value, bool) else str(value), 100)


def kind(python: type) -> str:
    """A type of JSON values in words."""
    names = {int: "an integer", bool: "a boolean", str: "text", float: "a number", dict: "an object"}
    return names.get(python, "a list" if python is list else "something else")


@rule("C010", "dimensions", needs=BOTH)
def dimensions(subject: Subject) -> Iterable[Finding]:
    """A dimension of the config is not the recipe's.

    What it does: compares hidden size, heads, head dim, intermediate size, layers, vocabulary, biases and
    context length.
    Why is this bad: engines build the draft from these numbers; a context length that is too small makes
    long prompts slow or wrong.
    Example: "num_hidden_layers": 5 in config.json, layers: 6 in the recipe.
    Use instead: the values that the draft was trained with, in both places.
    Since: 0.1.0
    """
    return _group("dimensions", subject)


@rule("C011", "block-size", needs=BOTH)
def block_size(subject: Subject) -> Iterable[Finding]:
    """The block size of the config is not the recipe's.

    What it does: compares block_size, at the top level or in dflash_config, with draft.block_size.
    Why is this bad: SGLang only warns when config and command disagree, and without any block size it takes
    16; the draft then fills blocks that it was not trained for and the accept length drops.
    Example: "block_size": 16 for a draft trained with 8.
    Use instead: the block size of the training run. It counts the anchor: a block of 8 proposes 7 tokens
    per verify step.
    Sources: sglang 0.5.14 dflash_worker_v2.py; vllm-project/speculators#456; NVIDIA/Model-Optimizer#2313.
    Since: 0.1.0
    """
    return _group("block size", subject)


@rule("C021", "aux-layers", needs=BOTH)
def aux_layers(subject: Subject) -> Iterable[Finding]:
    """The aux layers of the config are not the recipe's.

    What it does: compares target_layer_ids with draft.aux_layers.ids, order included: it is the order of
    the columns of fc.
    Why is this bad: layers off by one keep nine tenths of the accept length and lose a fifth of the gain;
    nothing else shows it.
    Example: [2, 13, 25] for a draft trained on [1, 12, 24].
    Use instead: the ids of the training run.
    Sources: sgl-project/sglang#25454; vllm-project/vllm#43671.
    Since: 0.1.0
    """
    return _group("aux layers", subject)


@rule("C025", "aux-layers-convention", needs=("recipe",))
def aux_layers_convention(subject: Subject) -> Iterable[Finding]:
    """The recipe counts aux layers in a way that no engine does for this family.

    What it does: DFlash ids mean the output of a layer (after-layer) in SGLang and vLLM; another convention
    must be converted.
    Why is this bad: ids that mean "before layer k" are off by one in the engine.
    Example: aux_layers: {ids: [2, 13, 25], convention: before-layer}.
    Use instead: ids - 1 with convention: after-layer, in recipe and config.
    Sources: sgl-project/sglang#25454; docs/design.md.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    if subject.recipe.draft.aux_convention == "before-layer" and subject.keys is DIFFUSION:
        where = subject.recipe.where("/draft/aux_layers/convention")
        message = (
            "aux layers are counted before-layer, but engines read the ids of a DFlash draft as after-layer"
        )
        yield Finding(message, "subtract 1 from each id and write convention: after-layer", where)


@rule("C026", "target-depth", needs=BOTH)
def target_depth(subject: Subject) -> Iterable[Finding]:
    """num_target_layers is not the depth of the target.

    What it does: compares num_target_layers with layers of the target file; the key must be there.
    Why is this bad: SGLang 0.5.14 takes the draft's own depth when it is absent and dies with "out-of-range
    layer id". TorchSpec writes the number of captured layers under this name.
    Example: "num_target_layers": 6 for a target of 61 layers.
    Use instead: the depth of the target.
    Sources: sglang 0.5.14 models/dflash.py; lightseekorg/TorchSpec configs.
    Since: 0.1.0
    """
    return _group("target depth", subject)


@rule("C030", "mask-token", needs=BOTH)
def mask_token(subject: Subject) -> Iterable[Finding]:
    """The mask token of the config is not the recipe's.

    What it does: compares mask_token_id (and mask_token, where stated); the id must be there.
    Why is this bad: a wrong mask token costs most of the gain; without an id SGLang looks for a token
    called <|MASK|>.
    Example: "mask_token_id": 17 for a draft trained with 16.
    Use instead: the id of the training run.
    Sources: NVIDIA/Model-Optimizer#2149.
    Since: 0.1.0
    """
    return _group("mask token", subject)


@rule("C032", "mask-token-special", severity=Severity.WARNING, needs=BOTH)
def mask_token_special(subject: Subject) -> Iterable[Finding]:
    """The mask token is a special token of the target.

    What it does: compares the mask token with the special ids of the target file (pad, bos, eos, ...).
    Why is this bad: a draft that was trained so works; one that was not has a config error that looks
    harmless.
    Example: "mask_token_id": 2 where 2 is eos.
    Use instead: the id of the training run; waive this where it really is a special token.
    Since: 0.1.0
    """
    recipe, _, stated = parts(subject)
    for each in stated.get("mask_token_id", ())[:1]:
        for name, token in recipe.target.special_ids.items():
            if same(token, each.value):
                where = recipe.where("/draft/mask_token/id")
                message = f"mask token {shown(each.value)} is the target's {quoted(name)} token"
                yield Finding(message, "check the training run", place(each.pointer), (where,))


@rule("C040", "attention-window", needs=BOTH)
def attention_window(subject: Subject) -> Iterable[Finding]:
    """Layer types or sliding window of the config are not the recipe's.

    What it does: compares layer_types, sliding_window, use_sliding_window and is_causal.
    Why is this bad: a draft trained with a window and run with full attention (or the reverse) loses
    acceptance on long contexts.
    Example: "sliding_window": 2048 in the config, null in the recipe.
    Use instead: what the draft was trained with, in both places.
    Sources: vllm-project/speculators#684; ikawrakow/ik_llama.cpp#2021.
    Since: 0.1.0
    """
    return _group("attention window", subject)


@rule("C050", "rope", needs=BOTH)
def rope(subject: Subject) -> Iterable[Finding]:
    """The rope of the config is not the recipe's.

    What it does: compares type, theta and every scaling key, in rope_theta + rope_scaling or in
    rope_parameters.
    Why is this bad: a wrong theta costs about a sixth of the accept length, a wrong amplitude a few
    percent, and the server says nothing.
    Example: "rope_theta": 10000 for a draft trained with 50000.
    Use instead: the rope of the training run.
    Sources: NVIDIA/Model-Optimizer#917 and #1621.
    Since: 0.1.0
    """
    return _group("rope", subject)


@rule("C070", "architecture", needs=BOTH)
def architecture(subject: Subject) -> Iterable[Finding]:
    """The architecture of the config is not the recipe's.

    What it does: compares architectures and model_type.
    Why is this bad: engines choose the model class by this name; under a base model's name the draft is
    loaded as something else.
    Example: "architectures": ["Qwen3ForCausalLM"] on a DFlash draft.
    Use instead: the name of the family, e.g. ["DFlashDraftModel"].
    Sources: sgl-project/sglang#33966.
    Since: 0.1.0
    """
    return _group("architecture", subject)


@rule("C080", "other-key", needs=BOTH)
def other_key(subject: Subject) -> Iterable[Finding]:
    """Another key of the config is not the recipe's.

    What it does: compares every other key that the recipe states under draft.config, and flags any that an
    engine reads and the recipe does not state.
    Why is this bad: a key like rms_norm_eps, hidden_act or conv_kernel_size changes what the draft computes.
    Example: "rms_norm_eps": 1e-6 in the config, 1e-5 in the recipe.
    Use instead: the value of the training run, in both places.
    Since: 0.1.0
    """
    ungrouped = {"dtype", "torch_dtype", "quantization_config", "compression_config"}
    grouped = list(_GROUPS.values())
    return contradictions(
        subject, lambda key: key not in ungrouped and not any(takes(key) for takes in grouped)
    )


@rule("C081", "unread-key", severity=Severity.NOTE, needs=BOTH)
def unread_key(subject: Subject) -> Iterable[Finding]:
    """The config has a key that no known engine version reads.

    What it does: lists keys of config.json that neither the recipe states nor an engine is known to read.
    Why is this bad: it rarely is; but a misspelt key is one that nobody reads.
    Example: "block_sise": 8.
    Use instead: the right name, or state the key under draft.config.
    Since: 0.1.0
    """
    recipe, _, actual = parts(subject)
    stated = subject.keys.stated(config_of(recipe))
    harmless = {
        "dtype",
        "torch_dtype",
        "transformers_version",
        "_name_or_path",
        "bos_token_id",
        "eos_token_id",
    }
    for key, found in actual.items():
        if (
            key not in stated
            and not subject.keys.is_read(key)
            and key not in harmless | {"pad_token_id", "auto_map"}
        ):
            message = f"no known engine reads {name_of(key)}"
            yield Finding(message, "state it under draft.config, or remove it", place(found[0].pointer))
