"""C rules about config.json on its own: what is missing, stated twice, impossible, or contradicts the
headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zoo.drafts import HEADER_DTYPE
from zoo.drafts.dflash import ARCHITECTURES, MAX_LAYERS, Stated, read_config
from zoo.printable import quoted
from zoo.recipe.config import recipe_pointer
from zoo.results import Finding, Severity, Where
from zoo.rules.config import CONFIG, name_of, place, same, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# ModelOpt writes its quantization here, and SGLang and vLLM read it beside config.json.
QUANT_FILE = "hf_quant_config.json"


def against(subject: Subject, key: str) -> tuple[Where, ...]:
    """The line of the recipe that states the canonical key ``key``, where there is a recipe."""
    if subject.recipe is None:
        return ()
    if key == "num_target_layers":
        return (subject.recipe.target.where("/layers"),)
    return (subject.recipe.where(recipe_pointer(key)),)


@rule("C012", "stated-twice", needs=("config",))
def stated_twice(subject: Subject) -> Iterable[Finding]:
    """The config states one value in two places, and they differ.

    What it does: finds block size, aux layers, mask token, target depth and rope values that stand in two
    places.
    Why is this bad: engines and versions look in different places first, so the same file means different
    drafts.
    Example: "block_size": 16 at the top and "dflash_config": {"block_size": 8}.
    Use instead: one place, or the same value in both.
    Sources: z-lab/dflash#150; sglang 0.5.14 reads the mask token id only from dflash_config, 0.5.23 also
    from the top level.
    Since: 0.1.0
    """
    for key, stated in read_config(subject.config or {}).items():
        for other in stated[1:]:
            if not same(other.value, stated[0].value):
                first, second = (
                    f"{shown(each.value)} at {quoted(each.pointer)}" for each in (stated[0], other)
                )
                message = f"{name_of(key)} is {first} and {second}"
                yield Finding(
                    message,
                    "keep the one that the draft was trained with",
                    place(other.pointer),
                    against(subject, key),
                )


@rule("C013", "not-where-engines-look", needs=("config",))
def not_where_engines_look(subject: Subject) -> Iterable[Finding]:
    """A value stands only where the oldest supported engine does not look.

    What it does: requires the mask token id inside dflash_config.
    Why is this bad: SGLang 0.5.14 ignores a mask_token_id at the top level and then looks for a token
    called <|MASK|>.
    Example: "mask_token_id": 4 at the top level and no mask_token_id in dflash_config.
    Use instead: "dflash_config": {"mask_token_id": 4, ...}.
    Sources: sglang 0.5.14 and 0.5.23, parse_dflash_draft_config.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {}).get("mask_token_id", ())
    if stated and stated[0].pointer == "/mask_token_id":
        yield Finding(
            "mask_token_id stands only at the top level, where SGLang 0.5.14 does not read it",
            "put it into dflash_config",
            place("/mask_token_id"),
            against(subject, "mask_token_id"),
        )


@rule("C020", "aux-layers-missing", needs=("config",))
def aux_layers_missing(subject: Subject) -> Iterable[Finding]:
    """The config does not say which target layers the draft reads.

    What it does: requires target_layer_ids, a list of integers.
    Why is this bad: SGLang then guesses evenly spaced layers. The guess is wrong for 14 of 20 published
    drafts, loads without a message, and costs about a fifth of the gain.
    Example: "dflash_config": {"mask_token_id": 4}.
    Use instead: the ids of the training run, in the order of the columns of fc.
    Sources: sgl-project/sglang#37475; z-lab/dflash#156.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {}).get("target_layer_ids", ())
    lines = against(subject, "target_layer_ids")
    if not stated:
        yield Finding(
            "target_layer_ids is missing, so engines guess", "state the ids of the training run", place()
        )
    for each in stated:
        if not _are_ids(each.value):
            message = f"target_layer_ids is {shown(each.value)}, not a list of layer numbers"
            yield Finding(message, "write the ids of the training run", place(each.pointer), lines)


@rule("C022", "aux-layers-impossible", needs=("config",))
def aux_layers_impossible(subject: Subject) -> Iterable[Finding]:
    """Aux layers that the target does not have, or that are given twice.

    What it does: each id must lie in 0 .. num_target_layers - 1 and occur once.
    Why is this bad: the server dies with "out-of-range layer id", or fc reads one layer in two places.
    Example: [1, 30] for a target of 30 layers (the last one is 29).
    Use instead: ids counted from 0, each the output of a layer of the target.
    Sources: sglang 0.5.14 models/dflash.py; sgl-project/sglang#32334; vllm-project/vllm#46788.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {})
    for each in stated.get("target_layer_ids", ())[:1]:
        if not _are_ids(each.value):
            return
        depth = stated["num_target_layers"][0].value if "num_target_layers" in stated else None
        if subject.recipe is not None:
            depth = subject.recipe.target.layers
        limit = depth if isinstance(depth, int) and not isinstance(depth, bool) else None
        where = place(each.pointer)
        wrong = [i for i in each.value if i < 0 or (limit is not None and i >= limit)]
        if wrong:
            message = f"aux layers {shown(wrong)} do not exist: the target has {limit or 'some'} layers"
            hint = "count layers from 0" + (f" to {limit - 1}" if limit else "")
            yield Finding(message, hint, where, against(subject, "target_layer_ids"))
        if len(set(each.value)) != len(each.value):
            yield Finding(
                f"aux layers {shown(each.value)} name a layer twice",
                "name each layer once",
                where,
                against(subject, "target_layer_ids"),
            )


@rule("C023", "aux-layers-order", severity=Severity.WARNING, needs=("config",))
def aux_layers_order(subject: Subject) -> Iterable[Finding]:
    """Aux layers are not in increasing order.

    What it does: looks for target_layer_ids that do not increase.
    Why is this bad: some engines capture in the order of the layers, whatever the list says; fc then gets
    its columns swapped, which costs about a fifth of the accept length.
    Example: [24, 1, 12].
    Use instead: increasing ids, with the columns of fc in that order.
    Since: 0.1.0
    """
    for each in read_config(subject.config or {}).get("target_layer_ids", ())[:1]:
        if _are_ids(each.value) and list(each.value) != sorted(each.value):
            yield Finding(
                f"aux layers {shown(each.value)} do not increase",
                "check the columns of fc",
                place(each.pointer),
            )


@rule("C024", "aux-layers-width", needs=("config", "header"))
def aux_layers_width(subject: Subject) -> Iterable[Finding]:
    """The number of aux layers does not fit the width of fc.

    What it does: fc.weight must be [hidden, count of aux layers x hidden].
    Why is this bad: the first forward pass dies ("target_hidden feature dim mismatch"), or the ids are not
    those of this file.
    Example: 5 ids and an fc of width 6 x 7168.
    Use instead: the ids of the run that trained this fc.
    Sources: sglang 0.5.14 models/dflash.py.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    stated = read_config(subject.config or {})
    fc = subject.checkpoint.tensors.get("fc.weight")
    ids, hidden = (
        stated.get(key, (Stated(None, ""),))[0].value for key in ("target_layer_ids", "hidden_size")
    )
    if fc is None or len(fc.shape) != 2 or not _are_ids(ids) or not isinstance(hidden, int):
        return
    if fc.shape[1] != len(ids) * hidden:
        message = f"{len(ids)} aux layers x {hidden:,} hidden, but fc.weight is {fc.shape[1]:,} wide"
        hint = "state the aux layers that this fc was trained with"
        file = subject.checkpoint.file_of["fc.weight"]
        related = (subject.recipe.where("/draft/aux_layers/ids"),) if subject.recipe else ()
        yield Finding(message, hint, Where(file, tensor="fc.weight"), related)


@rule("C031", "mask-token-range", needs=("config",))
def mask_token_range(subject: Subject) -> Iterable[Finding]:
    """The mask token is outside the vocabulary.

    What it does: mask_token_id must be an integer from 0 to vocab_size - 1.
    Why is this bad: the mask embedding is a row of the target's table; the server dies, or a resized row
    was never exported.
    Example: "mask_token_id": 512 with "vocab_size": 512.
    Use instead: a token of the target's tokenizer.
    Sources: sglang 0.5.14 ("mask_token_id is outside the target vocab size"); NVIDIA/Model-Optimizer#1621.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {})
    vocab = stated["vocab_size"][0].value if "vocab_size" in stated else None
    if subject.recipe is not None:
        vocab = subject.recipe.target.vocab_size
    for each in stated.get("mask_token_id", ()):
        limit = vocab if isinstance(vocab, int) else 10**9
        if not isinstance(each.value, int) or isinstance(each.value, bool) or not 0 <= each.value < limit:
            message = f"mask token {shown(each.value)} is not a token: the vocabulary is 0 to {limit - 1}"
            lines = against(subject, "mask_token_id")
            yield Finding(message, "use the mask token of the training run", place(each.pointer), lines)


@rule("C041", "layer-types", needs=("config",))
def layer_types(subject: Subject) -> Iterable[Finding]:
    """layer_types does not describe the layers.

    What it does: one entry per layer, each full_attention or sliding_attention, and a window where one
    slides.
    Why is this bad: SGLang refuses to start, or a sliding layer has no window.
    Example: five entries for six layers.
    Use instead: one entry per layer; "sliding_window": N where a layer slides.
    Sources: sglang 0.5.14 dflash_utils.py.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {})
    layers = stated.get("num_hidden_layers", (Stated(None, ""),))[0].value
    for each in stated.get("layer_types", ()):
        where, lines = place(each.pointer), against(subject, "layer_types")
        kinds = each.value if isinstance(each.value, list) else [each.value]
        if isinstance(layers, int) and len(kinds) != layers:
            message = f"layer_types has {len(kinds)} entries for {shown(layers)} layers"
            yield Finding(message, "write one entry per layer", where, lines)
        odd = [kind for kind in kinds if kind not in ("full_attention", "sliding_attention")]
        if odd:
            message = f"layer type {shown(odd[0])} is not one that engines know"
            yield Finding(message, "use full_attention or sliding_attention", where, lines)
        if "sliding_attention" in kinds and not {"sliding_window", "dflash_config.swa_window_size"} & set(
            stated
        ):
            yield Finding(
                "a layer slides but no sliding_window is stated", 'add "sliding_window": N', where, lines
            )


@rule("C060", "dtype", needs=("config", "header"))
def dtype(subject: Subject) -> Iterable[Finding]:
    """The dtype that the config names is not the dtype of the tensors.

    What it does: compares dtype and torch_dtype with the headers; both may be there, then both must fit.
    Why is this bad: a run in float16 of a bfloat16 draft accepted 0.06 of 15 tokens; some loaders believe
    the config.
    Example: "torch_dtype": "float16" over BF16 tensors.
    Use instead: the dtype of the tensors.
    Sources: sgl-project/SpecForge#890; InternLM/lmdeploy#4991.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    found = {tensor.dtype for tensor in subject.checkpoint.tensors.values()} & set(HEADER_DTYPE.values())
    for key in ("dtype", "torch_dtype"):
        named = (subject.config or {}).get(key)
        if named is None:
            continue
        spelled = HEADER_DTYPE.get(str(named).removeprefix("torch."))
        if spelled is None or (found and spelled not in found):
            related = (subject.recipe.where("/checkpoint/dtype"),) if subject.recipe else ()
            dtypes = ", ".join(sorted(found)) or "of no float type"
            message = f"{key} is {shown(named)}, but the tensors are {dtypes}"
            yield Finding(message, "write the dtype of the tensors", place(f"/{key}"), related)


@rule("C062", "dtype-missing", needs=("config",))
def dtype_missing(subject: Subject) -> Iterable[Finding]:
    """The config does not say which dtype the draft has.

    What it does: requires dtype or torch_dtype.
    Why is this bad: SGLang takes a missing dtype for float32 and then runs float32 as float16, whatever the
    tensors are. A bfloat16 draft in float16 accepted 0.06 of 15 tokens.
    Example: no "dtype" and no "torch_dtype".
    Use instead: "dtype": "bfloat16".
    Sources: sglang 0.5.14 configs/model_config.py (_get_and_verify_dtype); InternLM/lmdeploy#4991.
    Since: 0.1.0
    """
    config = subject.config or {}
    if config.get("dtype") is None and config.get("torch_dtype") is None:
        related = (subject.recipe.where("/checkpoint/dtype"),) if subject.recipe else ()
        hint = 'add the dtype of the tensors, e.g. "dtype": "bfloat16"'
        yield Finding("dtype is missing, and engines then run the draft in float16", hint, place(), related)


@rule("C061", "quantization-config", needs=("config", "header"))
def quantization_config(subject: Subject) -> Iterable[Finding]:
    """The config announces quantized weights, but the tensors are not quantized.

    What it does: a quantization_config or compression_config, or a file hf_quant_config.json beside it, needs
    tensors in a packed or 8-bit dtype.
    Why is this bad: the engine builds quantized layers and finds no scales; acceptance falls to 1.
    Example: "quantization_config": {"quant_method": "modelopt"} over BF16 tensors only.
    Use instead: no quantization_config for a draft in bfloat16.
    Sources: sgl-project/sglang#34622, #35797; vllm-project/vllm#44087.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    if {tensor.dtype for tensor in subject.checkpoint.tensors.values()} - {"BF16", "F16", "F32"}:
        return
    related = (subject.recipe.where("/checkpoint/dtype"),) if subject.recipe else ()
    for key in ("quantization_config", "compression_config"):
        if (subject.config or {}).get(key) is not None:
            message = f"{CONFIG} has a {key}, but no tensor is quantized"
            yield Finding(message, f"remove {key}", place(f"/{key}"), related)
    if QUANT_FILE in subject.checkpoint.files:
        message = f"the folder has a {QUANT_FILE}, but no tensor is quantized"
        yield Finding(message, f"remove {QUANT_FILE}: engines read it", Where(QUANT_FILE), related)


@rule("C071", "architecture-unknown", needs=("config",))
def architecture_unknown(subject: Subject) -> Iterable[Finding]:
    """The config names no architecture that this version can take stock of.

    What it does: looks for a known draft architecture in architectures.
    Why is this bad: without a family there is no inventory, and nothing can be said about missing tensors.
    Example: no "architectures" at all.
    Use instead: "architectures": ["DFlashDraftModel"] for a DFlash draft.
    Since: 0.1.0
    """
    named = (subject.config or {}).get("architectures")
    if not isinstance(named, list) or not set(map(str, named)) & set(ARCHITECTURES):
        message = f"architectures is {shown(named)}; known here: {', '.join(ARCHITECTURES)}"
        yield Finding(
            message,
            "name the draft's architecture",
            place("/architectures"),
            against(subject, "architectures"),
        )


@rule("C072", "config-incomplete", needs=("config",))
def config_incomplete(subject: Subject) -> Iterable[Finding]:
    """The config lacks a number without which the draft cannot be built.

    What it does: requires the dimensions, as integers, with at most 1,000 layers and heads that fit together.
    Why is this bad: engines fill gaps with defaults of another model.
    Example: no "num_key_value_heads".
    Use instead: every dimension of the training config.
    Since: 0.1.0
    """
    stated = read_config(subject.config or {})
    sizes = (
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
        "num_key_value_heads",
        "num_hidden_layers",
    )
    values: dict[str, int] = {}
    for key in sizes:
        value = stated.get(key, (Stated(None, f"/{key}"),))[0].value
        limit = MAX_LAYERS if key == "num_hidden_layers" else 10**9
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= limit:
            message = f"{key} is {shown(value)}, not an integer from 1 to {limit:,}"
            yield Finding(
                message, "write the value of the training config", place(f"/{key}"), against(subject, key)
            )
        else:
            values[key] = value
    heads, kv_heads = values.get("num_attention_heads"), values.get("num_key_value_heads")
    if heads and kv_heads and heads % kv_heads:
        lines = against(subject, "num_key_value_heads")
        message = f"{heads} attention heads cannot share {kv_heads} KV heads evenly"
        yield Finding(
            message, "write the values of the training config", place("/num_key_value_heads"), lines
        )


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)
