"""C rules about config.json on its own: what is missing, stated twice, hidden or impossible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from zoo.drafts.dspark import MLA_ARCHITECTURES
from zoo.drafts.keys import DIFFUSION, Stated, is_plain
from zoo.drafts.parts import names_one_of
from zoo.engines.readings import knows
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.config import against, name_of, place, same, shown
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# Keys that an engine takes before the canonical one, and that mean the same: SGLang and vLLM of any draft,
# SGLang 0.5.23 of DSpark.
_KV_HEADS = ("n_head_kv", "num_kv_heads")
_DSPARK = {"target_layer_ids": "dspark_target_layer_ids", "mask_token_id": "dspark_noise_token_id"}


@rule("C012", "stated-twice", needs=("config",))
def stated_twice(subject: Subject) -> Iterable[Finding]:
    """The config states one value in two places, and they differ.

    What it does: finds block size, aux layers, mask token, target depth, rope values and the keys of a head
    (emb_dim, say) that stand in two places; the KV heads under another name that engines look for first
    (num_kv_heads, n_head_kv); of a DSpark draft aux layers and mask token under dspark_*.
    Why is this bad: engines and versions look in different places first, so the same file means different
    drafts.
    Example: "block_size": 16 at the top and "dflash_config": {"block_size": 8}.
    Use instead: one place, or the same value in both.
    Sources: z-lab/dflash#150; sglang 0.5.14 reads the mask token id only from dflash_config, 0.5.23 also
    from the top level and refuses a Domino draft with two values of emb_dim; sglang 0.5.14
    configs/model_config.py (get_total_num_kv_heads), vllm 0.33.0 transformers_utils/config.py
    (CONFIG_FIELD_ALIASES); sglang 0.5.23 speculative/dspark_components/dspark_config.py.
    Since: 0.1.0
    """
    for key, stated in _places(subject).items():
        for other in stated[1:]:
            if not same(other.value, stated[0].value) and not _for_vllm(subject, key, stated[0], other):
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


def _for_vllm(subject: Subject, key: str, inner: Stated, top: Stated) -> bool:
    """Whether these are the aux layers of an EAGLE3 draft for both engines: in eagle_config SGLang takes id i
    for the output of layer i, at the top level vLLM takes it for that of layer i - 1."""
    if key != "target_layer_ids" or subject.keys is DIFFUSION or not _are_ids(inner.value):
        return False
    return same([each + 1 for each in inner.value], top.value)


def _places(subject: Subject) -> dict[str, tuple[Stated, ...]]:
    """Every key with the places that state it. A key of the draft's own block may stand at the top, too."""
    own, places = subject.keys.own + ".", dict(subject.stated)
    for key, inner in subject.stated.items():
        if key.startswith(own):
            places[key] = (*inner, *places.get(key.removeprefix(own), ()))
    dspark = subject.family is not None and subject.family.name == "dspark"
    aliases = [("num_key_value_heads", name) for name in _KV_HEADS] + (
        list(_DSPARK.items()) if dspark else []
    )
    for key, alias in aliases:
        if key in places:
            places[key] = (*places[key], *subject.stated.get(alias, ()))
    return places


@rule("C013", "not-where-engines-look", needs=("config",))
def not_where_engines_look(subject: Subject) -> Iterable[Finding]:
    """A value stands only where some engine does not look.

    What it does: requires the mask token id inside dflash_config, and the aux layers of an EAGLE3 draft
    inside eagle_config. Only an engine that knows the architecture is asked: a DSpark draft, which SGLang
    0.5.14 does not start with, may have its mask token at the top level.
    Why is this bad: SGLang 0.5.14 ignores a mask_token_id at the top level and looks for a token called
    <|MASK|>. For aux layers of an EAGLE3 draft at the top level SGLang takes its default.
    Example: "mask_token_id": 4 at the top level and no mask_token_id in dflash_config.
    Use instead: "dflash_config": {"mask_token_id": 4, ...}.
    Sources: sglang 0.5.14 and 0.5.23, parse_dflash_draft_config and models/llama_eagle3.py; vllm 0.33.0,
    v1/worker/gpu/spec_decode/eagle/eagle3_utils.py (reads the aux layers of a DFlash draft in both places).
    Since: 0.1.0
    """
    if subject.layout.name != "flat":
        return  # E022 says which engines read a nested config
    key, engine, versions = "mask_token_id", "SGLang 0.5.14", ["0.5.14"]
    if subject.keys is not DIFFUSION:
        key, engine, versions = "target_layer_ids", "SGLang", ["0.5.14", "0.5.23"]
    if any(knows("sglang", version, subject.layout.config) for version in versions):
        stated, best = subject.stated.get(key), subject.keys.places[key][0]
        if stated and stated[0].pointer != "/" + "/".join(best):
            name = stated[0].pointer.removeprefix("/")
            yield Finding(
                f"{quoted(name)} stands only at the top level, where {engine} does not read it",
                f"put it into {best[0]}",
                place(stated[0].pointer),
                against(subject, key),
            )


@rule("C014", "null", needs=("config",))
def null(subject: Subject) -> Iterable[Finding]:
    """A null where an engine takes it for a value.

    What it does: finds null in every key that an engine reads, at the top level and in dflash_config,
    rope_scaling and rope_parameters; a few keys (sliding_window, quantization_config, ...) may be null.
    Why is this bad: a key that is there answers, with null. In dflash_config it hides the value at the top
    level, so that aux layers are guessed; rope_is_neox_style: null means false, another rope.
    Example: "dflash_config": {"target_layer_ids": null} beside "target_layer_ids": [1, 12].
    Use instead: the value, or no key at all.
    Sources: sglang 0.5.14, dflash_utils.py (dflash_cfg.get(key, top-level value)) and models/dflash.py.
    Since: 0.1.0
    """
    config, keys = subject.layout.config, subject.keys
    for outer, block in [("", config), *((key, config.get(key)) for key in keys.blocks)]:
        for key, value in block.items() if isinstance(block, dict) else ():
            if value is None and (outer or (keys.is_read(key) and key not in keys.harmless_nulls)):
                name = f"{outer}.{key}" if outer else key
                message = f"{quoted(name)} is null, which engines do not take for absent"
                lines = against(subject, key if key in keys.places else name)
                pointer = f"/{outer}/{key}" if outer else f"/{key}"
                yield Finding(message, "write the value, or remove the key", place(pointer), lines)


@rule("C016", "rope-in-two-blocks", needs=("config",))
def rope_in_two_blocks(subject: Subject) -> Iterable[Finding]:
    """The config has both rope_parameters and rope_scaling.

    What it does: refuses a config in which both are there and not empty.
    Why is this bad: transformers 5.8 takes rope_scaling and throws rope_parameters away, with its theta;
    other readers do the reverse. The same file means two drafts.
    Example: "rope_scaling": {"rope_type": "yarn", ...} beside "rope_parameters": {"rope_theta": 50000}.
    Use instead: one of the two.
    Sources: transformers 5.8.1 (convert_rope_params_to_dict); sglang 0.5.14 (get_rope_config).
    Since: 0.1.0
    """
    config = subject.layout.config
    if config.get("rope_parameters") and config.get("rope_scaling"):
        message = "rope_parameters and rope_scaling are both there, and readers differ in which one wins"
        lines = () if subject.recipe is None else (subject.recipe.where("/draft/rope"),)
        yield Finding(message, "keep one of the two", place("/rope_scaling"), lines)


@rule("C015", "odd-key", needs=("config",))
def odd_key(subject: Subject) -> Iterable[Finding]:
    """The config has a key with a dot, a slash or a tilde.

    What it does: looks at the keys of config.json, and of the parts that engines read.
    Why is this bad: no engine reads such a key. It is what a flattened config leaves behind, and the nested
    value that was meant is missing.
    Example: "dflash_config/mask_token_id": 4.
    Use instead: "dflash_config": {"mask_token_id": 4}.
    Since: 0.1.0
    """
    config = subject.layout.config
    for outer, block in [("", config), *((key, config.get(key)) for key in subject.keys.blocks)]:
        for key in block if isinstance(block, dict) else ():
            if not is_plain(key):
                message = f"{quoted(key)} is a key that no engine reads"
                yield Finding(message, "nest it, or remove it", place(f"{outer and '/' + outer}/{key}"))


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
    stated = subject.stated.get("target_layer_ids", ())
    lines = against(subject, "target_layer_ids")
    if not stated and subject.keys is DIFFUSION:
        yield Finding(
            "target_layer_ids is missing, so engines guess", "state the ids of the training run", place()
        )
    for each in stated:
        if not _are_ids(each.value):
            message = f"target_layer_ids is {shown(each.value)}, not a list of layer numbers"
            yield Finding(message, "write the ids of the training run", place(each.pointer), lines)


@rule("C029", "aux-layers-default", severity=Severity.WARNING, needs=("config",))
def aux_layers_default(subject: Subject) -> Iterable[Finding]:
    """An EAGLE3 config leaves the aux layers to the engine.

    What it does: looks for eagle_config.eagle_aux_hidden_state_layer_ids in an EAGLE3 or P-EAGLE config.
    Why is this bad: SGLang and vLLM then take the outputs of layers 1, n/2 - 1 and n - 4 of the target, as
    SpecForge does by default; a draft that was trained on others loses acceptance without a message.
    Example: no "eagle_config" at all.
    Use instead: "eagle_config": {"eagle_aux_hidden_state_layer_ids": [...]} with the ids of the training run.
    Sources: sgl-project/sglang#21274; sglang 0.5.14 model_executor/model_runner.py.
    Since: 0.1.0
    """
    if subject.keys is not DIFFUSION and "target_layer_ids" not in subject.stated:
        message = "the aux layers are not stated, so the engine takes its default"
        hint = "state eagle_config.eagle_aux_hidden_state_layer_ids, the ids of the training run"
        yield Finding(message, hint, place(), against(subject, "target_layer_ids"))


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
    stated = subject.stated
    for each in stated.get("target_layer_ids", ())[:1]:
        if not _are_ids(each.value):
            return
        depth = stated["num_target_layers"][0].value if "num_target_layers" in stated else None
        if names_one_of(subject.layout.config, MLA_ARCHITECTURES):
            depth = None  # vLLM alone knows these, and does not read the key; TorchSpec counts the ids in it
        if subject.recipe is not None:
            depth = subject.recipe.target.layers
        limit = depth if isinstance(depth, int) and not isinstance(depth, bool) else None
        where = place(each.pointer)
        wrong = [i for i in each.value if i < 0 or (limit is not None and i >= limit)]
        if wrong:
            message = f"aux layers {shown(wrong)} do not exist: the target has {limit or 'some'} layers"
            hint = "count layers from 0" + (f" to {limit - 1}" if limit else "")
            if subject.recipe is None and limit == len(each.value):
                hint = (
                    "num_target_layers is the depth of the target; TorchSpec writes the number of ids there"
                )
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
    for each in subject.stated.get("target_layer_ids", ())[:1]:
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
    stated = subject.stated
    fc = subject.checkpoint.tensors.get("fc.weight")
    width = "hidden_size"
    if subject.keys is not DIFFUSION and "target_hidden_size" in stated:
        width = "target_hidden_size"
    ids, hidden = (stated.get(key, (Stated(None, ""),))[0].value for key in ("target_layer_ids", width))
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
    stated = subject.stated
    vocab = stated["vocab_size"][0].value if "vocab_size" in stated else None
    if subject.recipe is not None:
        vocab = subject.recipe.target.vocab_size
    for each in stated.get("mask_token_id", ()):
        limit = vocab if isinstance(vocab, int) else 10**9
        if not isinstance(each.value, int) or isinstance(each.value, bool) or not 0 <= each.value < limit:
            message = f"mask token {shown(each.value)} is not a token: the vocabulary is 0 to {limit - 1}"
            lines = against(subject, "mask_token_id")
            yield Finding(message, "use the mask token of the training run", place(each.pointer), lines)


@rule("C033", "mask-token-of-the-config", severity=Severity.WARNING, needs=("config",))
def mask_token_of_the_config(subject: Subject) -> Iterable[Finding]:
    """The mask token is a special token of the config itself.

    What it does: compares the mask token with bos_token_id, eos_token_id and pad_token_id of config.json, in
    a folder without a recipe (with one, C032 asks the target file).
    Why is this bad: a draft that was trained so works; one that was not has a config error that looks
    harmless.
    Example: "mask_token_id": 2 beside "eos_token_id": 2.
    Use instead: the id of the training run.
    Since: 0.1.0
    """
    mask, config = subject.mask, subject.layout.config
    if mask is None or subject.recipe is not None:
        return
    for role in ("bos", "eos", "pad"):
        stated = config.get(f"{role}_token_id")
        ids = stated if isinstance(stated, list) else [stated]
        if any(type(each) is int and each == mask.value for each in ids):
            message = f"mask token {shown(mask.value)} is the {role} token of this config"
            yield Finding(message, "check the training run", place(mask.pointer))
            return


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
    stated = subject.stated
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


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)
