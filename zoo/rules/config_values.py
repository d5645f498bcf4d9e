"""C rules about single values of config.json: dtype, quantization, architecture, dimensions, types."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.drafts import HEADER_DTYPE, dflash
from zoo.drafts.family import NotInventoriedError
from zoo.drafts.keys import DIFFUSION, Stated
from zoo.drafts.layouts import NESTED_ARCHITECTURES
from zoo.drafts.parts import MAX_LAYERS
from zoo.results import Finding, Where
from zoo.rules.config import CONFIG, against, kind, name_of, place, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# ModelOpt writes its quantization here, and SGLang and vLLM read it beside config.json.
QUANT_FILE = "hf_quant_config.json"


# What engines make of each value; lists and nested parts have rules of their own.
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("block_size", "num_target_layers", "head_dim", "vocab_size", "max_position_embeddings"), (int,)
    ),
    **dict.fromkeys(("sliding_window", "rope.original_max_position_embeddings"), (int,)),
    **dict.fromkeys(("draft_vocab_size", "target_hidden_size", "num_aux_hidden_states"), (int,)),
    **dict.fromkeys(("fc_norm", "norm_output", "norm_before_fc", "norm_before_residual", "bias"), (bool,)),
    **dict.fromkeys(("confidence_head_with_markov", "enable_confidence_head", "shift_label"), (bool,)),
    **dict.fromkeys(("use_aux_hidden_state", "use_input_layernorm_in_first_layer"), (bool,)),
    **dict.fromkeys(("conv_group_size", "conv_kernel_size", "selector_rank", "selector_top_k"), (int,)),
    **dict.fromkeys(("markov_rank", "gru_hidden_dim", "emb_dim", "pure_draft_prefix_len"), (int,)),
    **dict.fromkeys(("markov_head_type", "projector_type"), (str,)),
    **dict.fromkeys(("final_logit_softcapping", "output_multiplier"), (int, float)),
    **dict.fromkeys(("attention_bias", "tie_word_embeddings", "use_sliding_window", "is_causal"), (bool,)),
    **dict.fromkeys(("hidden_act", "model_type", "rope.type"), (str,)),
    **dict.fromkeys(("rms_norm_eps", "rope.theta", "rope.factor", "rope.beta_fast"), (int, float)),
    **dict.fromkeys(("rope.beta_slow", "rope.mscale", "rope.mscale_all_dim"), (int, float)),
    **dict.fromkeys(("rope.attention_factor", "rope.attn_factor"), (int, float)),
    **dict.fromkeys(("dflash_config", "eagle_config", "rope_scaling", "rope_parameters"), (dict,)),
}


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
        spelled = HEADER_DTYPE.get(str(named))
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
    # I64 and BOOL are the maps between the vocabularies.
    if {tensor.dtype for tensor in subject.checkpoint.tensors.values()} - {
        "BF16",
        "F16",
        "F32",
        "I64",
        "BOOL",
    }:
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

    What it does: wants architectures to be a list of one name that the draft's family is known by. (Domino is
    served under the name of DFlash.) The names that only the nested layout of speculators has are unknown in
    a flat config.
    Why is this bad: without a family there is no inventory, and nothing can be said about missing tensors.
    Example: no "architectures" at all.
    Use instead: "architectures": ["DFlashDraftModel"] for a DFlash draft.
    Since: 0.1.0
    """
    named, family = (subject.config or {}).get("architectures"), subject.family
    known = dflash.ARCHITECTURES if family is None else family.architectures
    if family is not None and family.name == "domino":
        known = (*known, *dflash.ARCHITECTURES)
    if subject.layout.name == "flat":
        known = tuple(name for name in known if name not in NESTED_ARCHITECTURES)
    if not isinstance(named, list) or len(named) != 1 or named[0] not in known:
        title = "DFlash" if family is None else family.title
        stated = "is missing" if named is None else f"is {shown(named)}"
        if isinstance(named, str):
            stated += ", a text and no list"
        message = f"architectures {stated}; known for {title}: {', '.join(known)}"
        hint = f'write a list: ["{named}"]' if named in known else "name the draft's architecture, in a list"
        yield Finding(message, hint, place("/architectures"), against(subject, "architectures"))


@rule("C072", "config-incomplete", needs=("config",))
def config_incomplete(subject: Subject) -> Iterable[Finding]:
    """The config lacks a number without which the draft cannot be built.

    What it does: requires the dimensions, as integers, with at most 1,000 layers and heads that fit together,
    and what the family's own tensors depend on (a Markov rank, say).
    Why is this bad: engines fill gaps with defaults of another model.
    Example: no "num_key_value_heads".
    Use instead: every dimension of the training config.
    Since: 0.1.0
    """
    stated = subject.stated
    sizes = (
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
        "num_key_value_heads",
        "num_hidden_layers",
        "vocab_size",
    )
    values: dict[str, int] = {}
    for key in sizes:
        value = stated.get(key, (Stated(None, f"/{key}"),))[0].value
        limit = MAX_LAYERS if key == "num_hidden_layers" else 10**9
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= limit:
            wanted = f"not an integer from 1 to {limit:,}"
            message = f"{key} is missing" if value is None else f"{key} is {shown(value)}, {wanted}"
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
    elif len(values) == len(sizes) and (lack := _lacks(subject)):
        yield Finding(lack, "write the value of the training config", place())


def _lacks(subject: Subject) -> str:
    """What the family's inventory does not find in the config, in words; "" if nothing."""
    if subject.family is None:
        return ""
    try:
        subject.family.inventory(subject.config or {}, "bfloat16")
    except KeyError as error:
        key = str(error.args[0])
        # Aux layers have a rule of their own.
        return "" if key == "target_layer_ids" else f"{key} is missing, which {subject.family.draft} has"
    except (TypeError, ZeroDivisionError) as error:
        return "" if "target_layer_ids" in str(error) else str(error)
    except NotInventoriedError:
        return ""
    return ""


@rule("C074", "value-type", needs=("config",))
def value_type(subject: Subject) -> Iterable[Finding]:
    """A value of the config has a type that engines do not expect.

    What it does: knows the type of every plain key that engines read: counts are integers, switches booleans.
    Why is this bad: the server dies while it starts or, for a count written as text, takes a default.
    Example: "num_target_layers": "61".
    Use instead: 61.
    Since: 0.1.0
    """
    for key, stated in subject.stated.items():
        outer, _, inner = key.rpartition(".")
        wanted = _TYPES.get(inner if outer == subject.keys.own else key)
        for each in stated:
            found = type(each.value)
            if (
                wanted is not None
                and found not in wanted
                and not (found is dict and key in subject.keys.blocks)
            ):
                message = f"{name_of(key)} is {shown(each.value)}, {kind(found)}, not {kind(wanted[-1])}"
                hint = "write the value as engines read it"
                yield Finding(message, hint, place(each.pointer), against(subject, key))


@rule("C017", "block-size-impossible", needs=("config",))
def block_size_impossible(subject: Subject) -> Iterable[Finding]:
    """The block size is no block.

    What it does: wants block_size, where it is stated, to be from 2 to 1,024; from 1 for a DSpark draft,
    whose block does not count the anchor.
    Why is this bad: a block of 1 proposes nothing, and an engine takes 0 for no block size at all.
    Example: "block_size": 0.
    Use instead: the block size of the training run.
    Sources: sglang 0.5.14 speculative/dflash_utils.py (parse_dflash_draft_config).
    Since: 0.1.0
    """
    least = 1 if subject.family is not None and subject.family.name == "dspark" else 2
    for each in subject.stated.get("block_size", ()) if subject.keys is DIFFUSION else ():
        if type(each.value) is int and not least <= each.value <= 1024:
            message = f"block_size is {shown(each.value)}, not from {least} to 1,024"
            hint = "write the block size of the training run"
            yield Finding(message, hint, place(each.pointer), against(subject, "block_size"))


@rule("C073", "activation", needs=("config",))
def activation(subject: Subject) -> Iterable[Finding]:
    """The config names an activation that engines refuse for this family.

    What it does: wants hidden_act to be silu; for DFlash and what is built on it also swigluoai (SGLang
    0.5.23).
    Why is this bad: SGLang 0.5.14 raises for anything but silu.
    Example: "hidden_act": "gelu".
    Use instead: the activation of the training config.
    Sources: sglang 0.5.14 and 0.5.23 models/dflash.py.
    Since: 0.1.0
    """
    for each in subject.stated.get("hidden_act", ()):
        known = ("silu", "swigluoai") if subject.keys is DIFFUSION else ("silu",)
        if each.value not in known:
            title = "DFlash" if subject.family is None else subject.family.title
            message = f"hidden_act is {shown(each.value)}; engines know {' and '.join(known)} for {title}"
            hint = "write the activation of the training config"
            yield Finding(message, hint, place(each.pointer), against(subject, "hidden_act"))
