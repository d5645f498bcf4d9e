"""C rules from reports of drafts that served badly: what a config leaves open, or says and contradicts.

docs/reports.md lists the reports, and for each the rules that see it before anything is served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zoo.checkpoint.jsonfile import pointer
from zoo.drafts.keys import DIFFUSION
from zoo.engines.hazards import has_latent_attention
from zoo.engines.readings import KNOWN
from zoo.engines.readings.hfconfig import model_types
from zoo.printable import quoted
from zoo.recipe.config import config_of
from zoo.results import Finding, Severity, Where
from zoo.rules.config import against, name_of, place, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# What engines take for a key that the config of any draft may leave out, and of a DFlash draft.
_DEFAULTS = {
    "rope.theta": "10,000",
    "rms_norm_eps": "1e-6",
    "max_position_embeddings": "32,768 for qwen3 and 2,048 for llama",
}
_DIFFUSION_DEFAULTS = {
    "block_size": "16 (SGLang, DFlash)",
    "mask_token_id": "a token called <|MASK|>",
    "num_target_layers": "the draft's own depth (SGLang before 0.5.18, which then refuses the aux layers)",
}
# What DSpark has instead (SGLang 0.5.23; vLLM takes the number of tokens from the command).
_DSPARK_DEFAULTS = {
    "block_size": "7 proposed tokens (SGLang, DSpark) or what the command says",
    "mask_token_id": "none: SGLang does not start without it",
    "num_target_layers": "the largest layer id + 1 (SGLang)",
}
_QWEN3_HEAD_DIM = 128
# What a rope type cannot do without; original_max_position_embeddings falls back to the whole context.
_ROPE_NEEDS = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}


@rule("C090", "engine-default", severity=Severity.WARNING, needs=("config",))
def engine_default(subject: Subject) -> Iterable[Finding]:
    """The config leaves a value to the default of an engine or library.

    What it does: looks for rope theta, rms_norm_eps and max_position_embeddings, for a DFlash draft also
    block size, mask token and target depth, and for model_type qwen3 head_dim where it is not hidden / heads.
    Why is this bad: the default belongs to another model and may change with a version; a draft with another
    theta or block than in training serves, and accepts less.
    Example: no "rope_theta" for a draft that was trained with 1,000,000.
    Use instead: every value of the training config, also where it happens to be the default.
    Sources: z-lab/dflash#150; sglang 0.5.14 models/dflash.py and speculative/dflash_utils.py, 0.5.23
    arg_groups/speculative_hook.py (DSpark); transformers 5.24 (defaults of Qwen3Config and LlamaConfig).
    Since: 0.1.0
    """
    if _nested(subject):
        return
    stated = subject.stated
    defaults = _DEFAULTS | (_DIFFUSION_DEFAULTS if subject.keys is DIFFUSION else {})
    if subject.family is not None and subject.family.name == "dspark":
        defaults |= _DSPARK_DEFAULTS
    if "dflash_config.mask_token" in stated:
        defaults.pop("mask_token_id", None)
    for key, default in defaults.items():
        if key not in stated and not _recipe_states(subject, key):
            message = f"{name_of(key)} is not stated, so engines take {default}"
            yield Finding(message, "write the value of the training config", place())
    hidden, heads = (_integer(subject, key) for key in ("hidden_size", "num_attention_heads"))
    if (subject.config or {}).get("model_type") != "qwen3" or "head_dim" in stated or not hidden or not heads:
        return
    if hidden != heads * _QWEN3_HEAD_DIM and not _recipe_states(subject, "head_dim"):
        message = (
            f"head_dim is not stated: qwen3 means {_QWEN3_HEAD_DIM}, and hidden / heads is {hidden / heads:g}"
        )
        yield Finding(message, "write the head_dim of the training config", place())


@rule("C091", "model-type-missing", needs=("config",))
def model_type_missing(subject: Subject) -> Iterable[Finding]:
    """The config has no model_type, or one that no engine knows.

    What it does: wants model_type at the top level, except in the nested layout of speculators, and looks it
    up among those that transformers, SGLang or vLLM know, in the versions that were read.
    Why is this bad: SGLang and vLLM read a flat config with transformers, which picks the config class by
    this key and refuses a config without it. One that is added by hand brings defaults of its own.
    Example: a DSpark config without "model_type".
    Use instead: the model_type of the training config: qwen3 for most DFlash drafts, llama for EAGLE3.
    Sources: sgl-project/sglang#40630; AutoConfig of transformers 5.8.1 to 5.20.2, and what the engines add
    (zoo/engines/readings/model_types.json).
    Since: 0.1.0
    """
    if (
        "model_type" not in subject.stated
        and not _nested(subject)
        and not _recipe_states(subject, "model_type")
    ):
        yield Finding("model_type is missing, and transformers refuses the config", "add it", place())
    for each in subject.stated.get("model_type", ()):
        if isinstance(each.value, str) and not any(each.value in model_types(*pair) for pair in KNOWN):
            message = (
                f"no transformers knows model_type {shown(each.value)}, so SGLang and vLLM refuse the config"
            )
            hint = (
                "write the model_type of the training config (qwen3 for most DFlash drafts, llama for EAGLE3)"
            )
            yield Finding(message, hint, place(each.pointer), against(subject, "model_type"))


@rule("C092", "private-path", severity=Severity.WARNING, needs=("config",))
def private_path(subject: Subject) -> Iterable[Finding]:
    """The config names a folder of the machine that wrote it.

    What it does: looks for name_or_path and _name_or_path, at every level, that are an absolute path.
    Why is this bad: the draft says of what model it is a draft with a path that nobody else has; vLLM cannot
    load the verifier from it, and a reader cannot tell which model was meant.
    Example: "verifier": {"name_or_path": "/model/from_s3"}.
    Use instead: the repository id of the target, or no such key.
    Sources: vllm-project/speculators#1065.
    Since: 0.1.0
    """
    for path, value in _texts(subject.config or {}):
        if path[-1] in ("name_or_path", "_name_or_path") and (
            value.startswith(("/", "~")) or value[1:3] == ":\\"
        ):
            message = f"{path[-1]} is {shown(value)}, a folder that only its author has"
            yield Finding(message, "write the repository id, or remove the key", place(pointer(*path)))


@rule("C093", "window-switched-off", needs=("config",))
def window_switched_off(subject: Subject) -> Iterable[Finding]:
    """Layers slide, but use_sliding_window is not true.

    What it does: for model_type qwen3, looks for a sliding layer and a window without "use_sliding_window":
    true.
    Why is this bad: transformers then throws the window away. SGLang refuses to start, and what does not look
    again runs every layer with full attention, as no layer was trained.
    Example: "sliding_window": 2048 and sliding layer_types without "use_sliding_window".
    Use instead: "use_sliding_window": true.
    Sources: ikawrakow/ik_llama.cpp#2021; vllm-project/speculators#684; transformers 5.24 (Qwen3Config sets
    sliding_window to None); sglang 0.5.14 speculative/dflash_utils.py.
    Since: 0.1.0
    """
    stated = subject.stated
    if (subject.config or {}).get("model_type") != "qwen3" or _uses_swa(subject) or not _slides(subject):
        return
    if "sliding_window" in stated and not _is_true(subject, "use_sliding_window"):
        message = "layers slide, but use_sliding_window is not true, so the window is thrown away"
        hint = 'add "use_sliding_window": true, or describe the layers as full_attention'
        yield Finding(message, hint, place("/layer_types"), against(subject, "use_sliding_window"))


@rule("C094", "window-unused", severity=Severity.WARNING, needs=("config",))
def window_unused(subject: Subject) -> Iterable[Finding]:
    """use_sliding_window is true, but no layer slides.

    What it does: looks for "use_sliding_window": true without a sliding layer in layer_types.
    Why is this bad: engines go by layer_types and run full attention. If the draft was trained with a window,
    its acceptance falls off beyond it, and nothing reports that.
    Example: "use_sliding_window": true, "sliding_window": 2048, and no "layer_types".
    Use instead: layer_types with sliding_attention for the layers that slide, or "use_sliding_window": false.
    Sources: ikawrakow/ik_llama.cpp#2021; vllm-project/speculators#684; sglang 0.5.14
    speculative/dflash_utils.py (get_dflash_attention_sliding_window_size).
    Since: 0.1.0
    """
    if _is_true(subject, "use_sliding_window") and not _slides(subject) and not _uses_swa(subject):
        message = "use_sliding_window is true, but layer_types has no sliding_attention: no engine slides"
        hint = "write the layer_types of the training config, or use_sliding_window false"
        lines = against(subject, "use_sliding_window")
        yield Finding(message, hint, place("/use_sliding_window"), lines)


@rule("C095", "context-of-yarn", severity=Severity.WARNING, needs=("config",))
def context_of_yarn(subject: Subject) -> Iterable[Finding]:
    """max_position_embeddings is not what the YaRN rope is stretched to.

    What it does: compares it with original_max_position_embeddings x factor.
    Why is this bad: SGLang and vLLM take max_position_embeddings as the context, already stretched. A smaller
    number cuts long prompts off or slows them down; a larger one promises positions that the rope does not
    cover.
    Example: "max_position_embeddings": 4096 with factor 64 on 4,096 positions.
    Use instead: "max_position_embeddings": 262144.
    Sources: sgl-project/SpecForge#220; sgl-project/sglang#6783; vllm 0.33.0 config/model.py; sglang 0.5.23
    get_context_length.
    Since: 0.1.0
    """
    stated = subject.stated
    factor = stated["rope.factor"][0].value if "rope.factor" in stated else None
    original = _integer(subject, "rope.original_max_position_embeddings")
    positions = _integer(subject, "max_position_embeddings")
    if stated["rope.type"][0].value != "yarn" or not original or not positions:
        return
    if isinstance(factor, int | float) and positions != (stretched := original * factor):
        message = (
            f"max_position_embeddings is {positions:,}, but YaRN stretches {original:,} to {stretched:,.0f}"
        )
        lines = against(subject, "max_position_embeddings")
        hint = "write the stretched number, or say in the recipe why the draft covers another"
        yield Finding(message, hint, place(stated["max_position_embeddings"][0].pointer), lines)


@rule("C096", "rope-incomplete", needs=("config",))
def rope_incomplete(subject: Subject) -> Iterable[Finding]:
    """The rope type needs a number that the config does not state.

    What it does: wants factor for linear and dynamic, also original_max_position_embeddings for yarn, the
    two frequency factors for llama3, and for longrope the two lists of factors and the original context.
    Why is this bad: transformers refuses some of these configs. For others it and SGLang fill in a factor of
    1 or the whole context as the original one: another rope than in training.
    Example: {"rope_type": "yarn", "factor": 64} without original_max_position_embeddings.
    Use instead: every number of the training config.
    Sources: NVIDIA/Model-Optimizer#917; sglang 0.5.14 layers/rotary_embedding/factory.py (_get_rope_param);
    transformers 5.24, run.
    Since: 0.1.0
    """
    kind = subject.stated["rope.type"][0].value
    recipe = subject.recipe
    if not isinstance(kind, str) or (recipe is not None and recipe.draft.rope["type"] != kind):
        return  # another rope than the recipe's: C050
    for key in _ROPE_NEEDS.get(kind, ()):
        if f"rope.{key}" not in subject.stated and not _recipe_states(subject, f"rope.{key}"):
            message = f"the rope is {shown(kind)} without {key}"
            yield Finding(message, f"state {key} as in training", place(), against(subject, "rope.type"))


@rule("C097", "draft-vocabulary", needs=("config",))
def draft_vocabulary(subject: Subject) -> Iterable[Finding]:
    """The draft's vocabulary is larger than the target's.

    What it does: compares draft_vocab_size with vocab_size.
    Why is this bad: the draft's tokens are a choice among the target's, so some of them map to none.
    Example: "draft_vocab_size": 320000 with "vocab_size": 151936.
    Use instead: the number of rows of lm_head, which is the length of d2t.
    Sources: specforge 0.2.0, modeling/draft (t2d selects draft_vocab_size of vocab_size tokens).
    Since: 0.1.0
    """
    draft, vocab = (_integer(subject, key) for key in ("draft_vocab_size", "vocab_size"))
    if draft and vocab and draft > vocab:
        message = f"draft_vocab_size is {draft:,}, more than the {vocab:,} tokens of the target"
        lines = against(subject, "draft_vocab_size")
        yield Finding(message, "write the rows of lm_head", place("/draft_vocab_size"), lines)


@rule("C098", "head-not-used", severity=Severity.WARNING, needs=("config", "header"))
def head_not_used(subject: Subject) -> Iterable[Finding]:
    """The file has a head of its own that an engine replaces.

    What it does: for EAGLE3 and P-EAGLE, looks for lm_head.weight in the file where the config states no
    draft_vocab_size, or ties the embeddings.
    Why is this bad: SGLang stops at a config without the key (but for latent attention). Where it is null,
    or the embeddings are tied, SGLang takes the target's head or the embedding, and the trained one is lost;
    vLLM uses the one of the file. The same draft accepts differently.
    Example: an lm_head.weight over the whole vocabulary and no "draft_vocab_size".
    Use instead: "draft_vocab_size": the rows of lm_head, and "tie_word_embeddings": false.
    Sources: vllm-project/vllm#27732; sglang 0.5.14 models/llama_eagle3.py and speculative/eagle_worker_v2.py
    (load_lm_head_from_target); vllm 0.33.0 models/llama_eagle3.py.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    name = "lm_head.weight"
    if subject.keys is DIFFUSION or _nested(subject) or name not in subject.checkpoint.tensors:
        return
    tied = _is_true(subject, "tie_word_embeddings")
    if tied or "draft_vocab_size" not in subject.stated:
        hint = "state draft_vocab_size and tie_word_embeddings false, or remove lm_head from the file"
        message = f"{quoted(name)} is in the file, but {_unused(subject.config or {}, tied=tied)}"
        yield Finding(message, hint, Where(subject.checkpoint.file_of[name], tensor=name))


def _unused(config: Mapping[str, Any], *, tied: bool) -> str:
    """Why SGLang does not use the head of the file, and what it does."""
    if tied:
        return "tie_word_embeddings is true: SGLang uses the embedding instead"
    if "draft_vocab_size" in config or has_latent_attention(config):
        return "draft_vocab_size is not stated: SGLang uses the target's head instead"
    return "draft_vocab_size is not stated: SGLang does not start without it"


@rule("C099", "projector-type", needs=("config",))
def projector_type(subject: Subject) -> Iterable[Finding]:
    """A Domino draft does not say that it is one.

    What it does: wants projector_type domino in dflash_config (or at the top level).
    Why is this bad: engines go by this key and by no other: without it SGLang 0.5.23 refuses the tensors of
    the head, and what does not look drops them.
    Example: "architectures": ["DominoDraftModel"] without "projector_type".
    Use instead: "dflash_config": {"projector_type": "domino", ...}.
    Sources: sglang 0.5.23 models/dflash.py (load_weights); PrismML/llama.cpp#126.
    Since: 0.1.0
    """
    stated = subject.stated
    if subject.family is None or subject.family.name != "domino":
        return
    key = "dflash_config.projector_type"
    if not {key, "projector_type"} & set(stated) and not _recipe_states(subject, key):
        message = "projector_type is missing, without which the head of a Domino draft is not read"
        yield Finding(message, 'add "projector_type": "domino" to dflash_config', place("/dflash_config"))


def _nested(subject: Subject) -> bool:
    """Whether the config has the layout of speculators, whose keys stand elsewhere."""
    return subject.layout.name != "flat"


def _recipe_states(subject: Subject, key: str) -> bool:
    """Whether a recipe states ``key``: then the rules that compare config and recipe report its absence."""
    return subject.recipe is not None and key in subject.keys.stated(config_of(subject.recipe))


def _integer(subject: Subject, key: str) -> int:
    """The positive integer that the config states for ``key``, or 0."""
    value = subject.stated[key][0].value if key in subject.stated else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _is_true(subject: Subject, key: str) -> bool:
    return key in subject.stated and subject.stated[key][0].value is True


def _slides(subject: Subject) -> bool:
    kinds = subject.stated["layer_types"][0].value if "layer_types" in subject.stated else None
    return isinstance(kinds, list) and "sliding_attention" in kinds


def _uses_swa(subject: Subject) -> bool:
    """Whether the config says it in the way of ModelOpt and MiMo, which vLLM reads."""
    return _is_true(subject, "dflash_config.use_swa")


def _texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text below ``value`` that stands in an object, with its path."""
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list):
        items = ((str(index), inner) for index, inner in enumerate(value))
    for key, inner in items:
        if isinstance(inner, str):
            yield (*path, key), inner
        else:
            yield from _texts(inner, (*path, key))
