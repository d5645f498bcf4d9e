"""I rules: the tensors that the config implies against the tensors that the files hold, both ways.

This is the heart of the static gate. Engines ignore unknown tensors and never look for missing ones, so a
draft with a dropped or renamed tensor serves correct text at an accept length of 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from zoo.checkpoint.model import Checkpoint
from zoo.drafts import Inventory
from zoo.drafts.family import family_of_names
from zoo.drafts.names import Foreign
from zoo.drafts.switches import switch_of
from zoo.printable import quoted
from zoo.recipe.config import config_of, family_of_recipe
from zoo.results import Finding, Severity, Where
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


def _sides(subject: Subject) -> tuple[Checkpoint, Inventory]:
    assert subject.checkpoint is not None
    assert subject.inventory is not None
    return subject.checkpoint, subject.inventory


def _counted(subject: Subject) -> tuple[Where, ...]:
    return () if subject.recipe is None else (subject.recipe.where("/checkpoint/tensors"),)


def _weights_file(checkpoint: Checkpoint) -> str:
    return checkpoint.weights[0].name if len(checkpoint.weights) == 1 else checkpoint.source


@rule("I001", "missing-tensor", needs=("header", "inventory"))
def missing(subject: Subject) -> Iterable[Finding]:
    """A tensor that the engine needs is not in the file.

    What it does: derives the inventory from the recipe (or config) and looks for each name in the headers.
    Why is this bad: no engine looks for missing tensors. The parameter keeps whatever was in memory and the
    accept length falls to 1.
    Example: layers.3.mlp.down_proj.weight is not there.
    Use instead: export the checkpoint again; a count that is right by accident hides nothing here.
    Sources: sglang 0.5.14 models/dflash.py, load_weights; vllm-project/speculators#1114, #812.
    Since: 0.1.0
    """
    checkpoint, wanted = _sides(subject)
    mended = {found.native for found in subject.foreign_names.values()}
    absent = [name for name in wanted if name not in checkpoint.tensors and name not in mended]
    related = _counted(subject)
    where = _weights_file(checkpoint)
    return (
        Finding(f"tensor {quoted(name)} is missing", _loss_of(name), Where(where, tensor=name), related)
        for name in absent
    )


def _loss_of(name: str) -> str:
    """What becomes of a draft without this tensor, and what to do."""
    if name == "t2d":
        return "export it with the rest: no engine reads it, but d2t is checked against it"
    if name == "d2t":
        return "export the checkpoint again: an engine would take the draft's token ids for the target's"
    return "export the checkpoint again: an engine would leave this parameter uninitialised"


@rule("I002", "unexpected-tensor", needs=("header", "inventory"))
def unexpected(subject: Subject) -> Iterable[Finding]:
    """A tensor that no engine will read is in the file.

    What it does: lists names that the inventory does not have and that are no known spelling of one that it
    has.
    Why is this bad: engines skip it without a word; often it is the sign of another family (a markov head,
    a selector) or another depth.
    Example: layers.6.mlp.up_proj.weight in a draft of 6 layers.
    Use instead: declare what the draft really is (the hint names the config key, where one is known), or
    remove it.
    Sources: sglang 0.5.14 models/dflash.py, load_weights.
    Since: 0.1.0
    """
    checkpoint, wanted = _sides(subject)
    known = {*wanted, *subject.optional, *subject.foreign_names}
    extra = [name for name in checkpoint.tensors if name not in known]
    return (
        Finding(
            f"tensor {quoted(name)} is not part of this draft",
            _use_of(subject, name),
            Where(checkpoint.file_of[name], tensor=name),
            _counted(subject),
        )
        for name in extra
    )


def _use_of(subject: Subject, name: str) -> str:
    """What an unexpected tensor is for, as far as that is known, and what to do with it."""
    assert subject.family is not None
    place = "config.json" if subject.recipe is None else "the recipe's draft section"
    key = switch_of(name, subject.family.name)
    if key is not None:
        return f"if it was trained, state {key} in {place}; else remove it"
    other = family_of_names([name])
    if other is not None and other is not subject.family:
        return f"it is {other.title}'s: correct the family, or take the right file (I008)"
    return f"remove it, or correct layers and family in {place}"


@rule("I003", "shape", needs=("header", "inventory"))
def shape(subject: Subject) -> Iterable[Finding]:
    """A tensor has another shape than the config implies.

    What it does: compares every shape with the inventory.
    Why is this bad: at best the server dies while loading; a transposed square matrix loads and computes
    nonsense.
    Example: self_attn.k_proj.weight [512, 7168] with 8 KV heads of 128.
    Use instead: the dimensions of the training config, or the right file.
    Since: 0.1.0
    """
    checkpoint, wanted = _sides(subject)
    wrong = [
        (name, spec, checkpoint.tensors[name])
        for name, spec in {**wanted, **subject.optional}.items()
        if name in checkpoint.tensors and checkpoint.tensors[name].shape != spec.shape
    ]
    source = "the config" if subject.recipe is None else "the recipe"
    return (
        Finding(
            f"tensor {quoted(name)} is {_dims(tensor.shape)}, {source} implies {_dims(spec.shape)}",
            "check the dimensions of recipe and config, or export again",
            Where(checkpoint.file_of[name], tensor=name),
            () if subject.recipe is None else (subject.recipe.where(_dimension_of(name)),),
        )
        for name, spec, tensor in wrong
    )


@rule("I004", "tensor-dtype", needs=("header", "inventory"))
def tensor_dtype(subject: Subject) -> Iterable[Finding]:
    """A tensor has another dtype than the recipe says.

    What it does: compares the dtype of every tensor in the headers with checkpoint.dtype.
    Why is this bad: engines cast silently. A float16 round trip clips what bfloat16 can hold, and float32
    doubles the download.
    Example: norm.weight is F32 in a bfloat16 draft.
    Use instead: one cast, at export, from the master weights.
    Sources: sgl-project/SpecForge#890.
    Since: 0.1.0
    """
    checkpoint, wanted = _sides(subject)
    wrong = [
        (name, spec.dtype, checkpoint.tensors[name].dtype)
        for name, spec in {**wanted, **subject.optional}.items()
        if name in checkpoint.tensors and checkpoint.tensors[name].dtype != spec.dtype
    ]
    related = () if subject.recipe is None else (subject.recipe.where("/checkpoint/dtype"),)
    return (
        Finding(
            f"tensor {quoted(name)} is {actual}, not {needed}",
            f"export it as {needed}",
            Where(checkpoint.file_of[name], tensor=name),
            related,
        )
        for name, needed, actual in wrong
    )


@rule("I005", "foreign-name", needs=("header", "inventory"))
def foreign_name(subject: Subject) -> Iterable[Finding]:
    """Tensors carry the names of another framework.

    What it does: recognises wrapper prefixes (model., module., _orig_mod., draft_model., any other),
    TorchSpec's context_proj, assistant names, fused projections, and leftovers of training; says the
    rename, once per cause.
    Why is this bad: an engine skips names that it does not know. SGLang strips "model." from a DFlash draft
    and nothing else.
    Example: draft_model.layers.0.mlp.up_proj.weight.
    Use instead: the names of the family, without a prefix.
    Sources: lightseekorg/TorchSpec tools/convert_to_hf.py; vllm-project/speculators#1131; SpecForge#645.
    Since: 0.1.0
    """
    checkpoint, _ = _sides(subject)
    causes: dict[str, list[tuple[str, Foreign]]] = {}
    for name, found in subject.foreign_names.items():
        causes.setdefault(found.pattern, []).append((name, found))
    for pattern, names in causes.items():
        first = names[0][0]
        message = f"tensor {quoted(first)} is foreign: {pattern}"
        if len(names) > 1:
            message = f"{len(names)} tensors are foreign: {pattern}, e.g. {quoted(first)}"
        where = Where(checkpoint.file_of[first], tensor=first)
        yield Finding(message, _advice(names), where, _counted(subject))


def _advice(names: list[tuple[str, Foreign]]) -> str:
    """The way out of one cause: the one that all its tensors share, or the rename of each."""
    advices = list(dict.fromkeys(found.advice for _, found in names))
    if len(advices) == 1:
        return advices[0]
    renames = [f"{name} to {found.native}" for name, found in names[:4]]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"rename {', '.join(renames)}{more}; zoo fix writes such a copy"


@rule("I008", "other-family", needs=("header", "inventory"))
def other_family(subject: Subject) -> Iterable[Finding]:
    """The tensors are those of another family than the config (or recipe) says.

    What it does: looks for names that only one family has: markov_head, prefix_gru, candidate_selector ...
    Why is this bad: under another family's name an engine skips those tensors without a word, and what is
    left serves at a lower accept length, or at 1. A count does not tell: DSpark and Domino have equally many.
    Example: markov_head.markov_w1.weight in a draft whose config says DFlash.
    Use instead: the architecture and config keys of the family, or the right file.
    Sources: PrismML/llama.cpp#126; NVIDIA/Model-Optimizer hf_spec_export.py.
    Since: 0.1.0
    """
    checkpoint, _ = _sides(subject)
    assert subject.family is not None
    names = [name for name in checkpoint.tensors if name not in subject.foreign_names]
    found = family_of_names(names)
    # Most families are DFlash with a head, and P-EAGLE is EAGLE3 with a mask: a lost part is I001, and what
    # is left looks like the other family.
    rest = "eagle3" if subject.family.name == "peagle" else "dflash"
    if found is None or found.name in (subject.family.name, rest):
        return
    example = next(name for name in names if family_of_names([name]) is found)
    related = () if subject.recipe is None else (subject.recipe.where("/checkpoint/family"),)
    message = f"{quoted(example)} belongs to {found.title}, but this is said to be {subject.family.title}"
    hint = f"describe it as {found.title}, or take the right file"
    yield Finding(message, hint, Where(checkpoint.file_of[example], tensor=example), related)


@rule("I006", "tensor-count", needs=("recipe", "header", "inventory"))
def tensor_count(subject: Subject) -> Iterable[Finding]:
    """The number of tensors is not the one that the recipe states.

    What it does: counts the tensors of all weights files, and the inventory of the recipe itself.
    Why is this bad: a count is the first thing that people compare; the recipe must not state a wrong one.
    Example: tensors: 69 for a file with 68.
    Use instead: 3 + 11 x layers for a DFlash draft.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    checkpoint, wanted = _sides(subject)
    stated, where = subject.recipe.checkpoint.tensors, subject.recipe.where("/checkpoint/tensors")
    if stated != len(wanted):
        message = f"the recipe states {stated:,} tensors, but its draft section implies {len(wanted):,}"
        yield Finding(message, "correct tensors or layers in the recipe", where)
    if len(checkpoint.tensors) != stated:
        message = f"{len(checkpoint.tensors):,} tensors in the file, the recipe states {stated:,}"
        hint = "see the findings about names"
        if checkpoint.tensors.keys() == wanted.keys():  # there are none
            hint = f"correct checkpoint.tensors to {len(wanted)}, or export again"
        yield Finding(message, hint, Where(_weights_file(checkpoint)), (where,))


@rule("I007", "borrowed-tensor", severity=Severity.ERROR, needs=("recipe",))
def borrowed_undeclared(subject: Subject) -> Iterable[Finding]:
    """The recipe does not say that embedding and head come from the target.

    What it does: requires draft.borrows to name embed_tokens and lm_head, each unless it is in the file.
    Why is this bad: a reader of the card must know that the draft cannot run without its target's tables.
    Example: borrows: {}.
    Use instead: borrows: {embed_tokens: target, lm_head: target}.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    held = subject.inventory or {}
    absent = [
        name
        for name in ("embed_tokens", "lm_head")
        if f"{name}.weight" not in held and name not in subject.recipe.draft.borrows
    ]
    if absent:
        where = subject.recipe.where("/draft/borrows")
        message = f"the recipe does not say where {' and '.join(absent)} come from"
        yield Finding(message, f"add {absent[0]}: target", where)


@rule("I009", "optional-tensor", needs=("recipe", "inventory"))
def optional_tensor(subject: Subject) -> Iterable[Finding]:
    """The recipe lists an optional tensor that the family does not leave open.

    What it does: looks up each name of checkpoint.optional among the tensors that a file of this family and
    config may have or lack (embed_tokens.weight, or d2t and t2d where the draft has the whole vocabulary).
    Why is this bad: the name would be wanted by nobody, or is required anyhow; the author meant another one.
    Example: optional: [embed_token.weight].
    Use instead: a name that the finding lists, or no entry.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    family = family_of_recipe(subject.recipe)
    known = family.optional(config_of(subject.recipe), subject.recipe.checkpoint.dtype)
    for index, name in enumerate(subject.recipe.checkpoint.optional):
        if name not in known:
            where = subject.recipe.where(f"/checkpoint/optional/{index}")
            message = f"{quoted(name)} is no tensor that {family.draft} may have or lack"
            hint = f"it leaves open: {', '.join(known)}" if known else "it leaves none open: remove the entry"
            yield Finding(message, hint, where)


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _dimension_of(tensor: str) -> str:
    """The recipe line that decides the shape of a tensor, as far as one line does."""
    for part, pointer in (
        ("fc.", "/draft/aux_layers/ids"),
        ("mlp.", "/draft/config/intermediate_size"),
        ("k_proj", "/draft/config/num_key_value_heads"),
        ("v_proj", "/draft/config/num_key_value_heads"),
        ("q_proj", "/draft/config/num_attention_heads"),
        ("o_proj", "/draft/config/num_attention_heads"),
        ("q_norm", "/draft/config/head_dim"),
        ("k_norm", "/draft/config/head_dim"),
    ):
        if part in tensor:
            return pointer
    return "/draft/config/hidden_size"
