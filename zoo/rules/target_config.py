"""C110 to C121: the draft, and what the recipe says of its target, against the target's own files.

They run where the target is at hand: ``--target``, or a target that is a folder of the zoo. Rope and dtype
are not compared: a draft may have its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.drafts.keys import DIFFUSION
from zoo.printable import quoted
from zoo.results import Finding, Severity, Where
from zoo.rules.config import against, place, same, shown
from zoo.rules.registry import Level, reported, rule
from zoo.rules.subject import Subject

if TYPE_CHECKING:
    from zoo.checkpoint.target import TargetModel

_FACTS = ("layers", "hidden_size", "vocab_size", "max_position_embeddings")


@reported("C110", "target-unreadable", needs=("target_source",))
def target_unreadable() -> None:
    """A file of the target cannot be understood.

    What it does: reads config.json, generation_config.json, tokenizer_config.json and tokenizer.json of the
    target strictly.
    Why is this bad: the draft is compared with what they say, and another reader may understand them
    otherwise.
    Example: a config.json with a duplicate key.
    Use instead: the files of the target's own repository.
    Since: 0.1.0
    """


@rule("C111", "target-file", needs=("recipe", "target"))
def target_file(subject: Subject) -> Iterable[Finding]:
    """The target file of the recipe does not describe the target.

    What it does: compares layers, hidden_size, vocab_size and max_position_embeddings with the target's
    config.json, in text_config where it has one.
    Why is this bad: recipe and draft are checked against the target file; if that is wrong, so is the draft.
    Example: layers: 60 for a target of 61.
    Use instead: the values of the target's config.json.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    target, file = _target(subject), subject.recipe.target
    for key in _FACTS:
        ours, theirs = getattr(file, key), getattr(target, key)
        if ours is not None and theirs is not None and ours != theirs:
            message = f"the target file says {key} is {ours:,}, the target's config.json {theirs:,}"
            where = file.where(f"/{key}")
            yield Finding(message, "write what the target's config.json says", where, (target.where(),))


@rule("C112", "target-tokenizer", needs=("recipe", "tokenizer"))
def target_tokenizer(subject: Subject) -> Iterable[Finding]:
    """The tokenizer of the target is not the one that the recipe names.

    What it does: compares tokenizer.sha256 of the target file with the target's tokenizer.json.
    Why is this bad: revisions of one model have moved special tokens by one to three ids; a draft of the
    other revision then masks with another word.
    Example: the sha256 of the revision before.
    Use instead: the sha256 of the tokenizer.json that the draft was trained with, and that revision.
    Sources: fw-ai/cookbook#449.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    stated = subject.recipe.target.data.get("tokenizer", {}).get("sha256")
    if stated not in (None, "unknown", subject.tokenizer):
        message = f"the target's tokenizer.json has the sha256 {subject.tokenizer}, the target file another"
        where = subject.recipe.target.where("/tokenizer/sha256")
        hint = "check out the revision that the draft was trained for, or correct the target file"
        yield Finding(message, hint, where, (_target(subject).where("tokenizer.json"),))


@rule("C113", "target-width", needs=("config", "target"))
def target_width(subject: Subject) -> Iterable[Finding]:
    """The draft is made for a target of another width.

    What it does: compares hidden_size of the draft (for EAGLE3 target_hidden_size, where it is stated) with
    hidden_size of the target's config.json.
    Why is this bad: fc takes the target's hidden states; the first forward pass dies.
    Example: a draft of 4,096 for a target of 5,120.
    Use instead: the draft of this target.
    Sources: sglang 0.5.14 ("DFLASH target_hidden feature dim mismatch"); vllm-project/vllm#17957.
    Since: 0.1.0
    """
    own = subject.keys is not DIFFUSION and "target_hidden_size" in subject.stated
    yield from _differing(subject, "target_hidden_size" if own else "hidden_size", "hidden_size")


@rule("C114", "target-vocabulary-size", needs=("config", "target"))
def target_vocabulary_size(subject: Subject) -> Iterable[Finding]:
    """The draft is made for a target of another vocabulary.

    What it does: compares vocab_size of the draft with that of the target's config.json.
    Why is this bad: embedding and head are the target's, and token ids mean its tokens.
    Example: a draft of 151,936 tokens for a target of 163,840.
    Use instead: the draft of this target.
    Sources: vllm-project/vllm#5203; ggml-org/llama.cpp#3812.
    Since: 0.1.0
    """
    yield from _differing(subject, "vocab_size", "vocab_size")


@rule("C115", "target-layers", needs=("config", "target"))
def target_layers(subject: Subject) -> Iterable[Finding]:
    """num_target_layers is not the depth of the target.

    What it does: compares num_target_layers of the draft with num_hidden_layers of the target's config.json.
    Why is this bad: engines bound the aux layers by it. TorchSpec writes the number of captured layers under
    this name.
    Example: "num_target_layers": 5 for a target of 36 layers.
    Use instead: the depth of the target.
    Sources: sglang 0.5.14 models/dflash.py; lightseekorg/TorchSpec configs.
    Since: 0.1.0
    """
    yield from _differing(subject, "num_target_layers", "layers")


@rule("C116", "target-aux-layers", needs=("config", "target"))
def target_aux_layers(subject: Subject) -> Iterable[Finding]:
    """The draft reads layers that the target does not have.

    What it does: each aux layer must lie in 0 .. n - 1, n being num_hidden_layers of the target's
    config.json; in an EAGLE3 config of speculators, which counts what enters a layer, in 0 .. n.
    Why is this bad: the server dies, or captures nothing for that layer.
    Example: aux layers [24, 30, 36] for a target of 36 layers.
    Use instead: the ids of the training run for this target.
    Sources: sgl-project/sglang#32334; vllm-project/vllm#46788.
    Since: 0.1.0
    """
    target = _target(subject)
    enters = subject.layout.name == "speculators" and subject.keys is not DIFFUSION
    last = target.layers if enters else target.layers - 1
    for each in subject.stated.get("target_layer_ids", ())[:1]:
        ids = each.value if isinstance(each.value, list) else []
        wrong = [number for number in ids if type(number) is int and not 0 <= number <= last]
        if wrong:
            message = f"aux layers {shown(wrong)} do not exist: the target has {target.layers} layers"
            hint = f"count layers from 0 to {last}"
            yield Finding(message, hint, place(each.pointer), _lines(subject, "target_layer_ids"))


@rule("C117", "mask-token-row", needs=("config", "target", "embedding"))
def mask_token_row(subject: Subject) -> Iterable[Finding]:
    """The mask token has no row in the target's embedding.

    What it does: compares the mask token id with the number of rows in the header of the target's embedding.
    Why is this bad: a row that was added for training and never exported is not there when the draft is
    served; the server dies or reads beyond the table.
    Example: mask token 151,936 with an embedding of 151,936 rows.
    Use instead: a mask token that the target has.
    Sources: NVIDIA/Model-Optimizer#1621.
    Since: 0.1.0
    """
    mask, embedding = subject.mask, subject.embedding
    assert embedding is not None
    if mask is not None and mask.value >= embedding.rows:
        rows = f"the {embedding.rows:,} rows of the target's {quoted(embedding.tensor)}"
        message = f"mask token {shown(mask.value)} is beyond {rows}"
        lines = _lines(subject, "mask_token_id")
        yield Finding(message, "use the mask token of the training run", place(mask.pointer), lines)


@rule("C118", "mask-token-of-the-target", severity=Severity.WARNING, needs=("config", "target"))
def mask_token_of_the_target(subject: Subject) -> Iterable[Finding]:
    """The mask token is a special token of the target.

    What it does: compares the mask token with bos, eos, pad and unk of the target's config.json,
    generation_config.json and tokenizer_config.json.
    Why is this bad: a draft that was trained so works; one that was not has a config error that looks
    harmless.
    Example: "mask_token_id": 2 where 2 is eos.
    Use instead: the id of the training run; waive this where it really is a special token.
    Since: 0.1.0
    """
    mask, target = subject.mask, _target(subject)
    if mask is not None and mask.value in target.special_ids:
        role = target.special_ids[mask.value]
        message = f"mask token {shown(mask.value)} is the target's {role} token"
        lines = _lines(subject, "mask_token_id")
        yield Finding(message, "check the training run", place(mask.pointer), lines)


@rule("C119", "target-context", severity=Severity.WARNING, needs=("config", "target"))
def target_context(subject: Subject) -> Iterable[Finding]:
    """The draft is made for shorter contexts than its target.

    What it does: compares max_position_embeddings of the draft with that of the target's config.json.
    Why is this bad: beyond it engines slow down, die on the draft's rope table, or accept little.
    Example: 4,096 for a target of 131,072.
    Use instead: the context of the target, where the draft was trained for it; else waive this and say so.
    Sources: sgl-project/sglang#6783; vllm-project/vllm#48894; sgl-project/SpecForge#220.
    Since: 0.1.0
    """
    theirs = _target(subject).max_position_embeddings
    for each in subject.stated.get("max_position_embeddings", ())[:1]:
        if theirs is not None and type(each.value) is int and each.value < theirs:
            message = f"the draft is made for {each.value:,} positions, its target for {theirs:,}"
            hint = "write the context that the draft was trained for, or waive this and say why"
            yield Finding(message, hint, place(each.pointer), _lines(subject, "max_position_embeddings"))


@rule("C120", "mask-token-text", needs=("config", "target"))
def mask_token_text(subject: Subject) -> Iterable[Finding]:
    """The text of the mask token is another token of the target.

    What it does: looks up the mask_token of the config, and of the recipe, among the added tokens of the
    target's tokenizer.
    Why is this bad: engines that find no id take the text, and then mask with another token than was trained.
    Example: "mask_token": "<|mask|>" and id 4, where the tokenizer has that text under 5.
    Use instead: the text and the id of one token.
    Sources: sglang 0.5.14 speculative/dflash_utils.py (the id of the text when no id is stated).
    Since: 0.1.0
    """
    mask, target, pointer = subject.mask, _target(subject), "/dflash_config/mask_token"
    texts = [each.value for each in subject.stated.get("dflash_config.mask_token", ())]
    if subject.recipe is not None and subject.recipe.draft.mask_token is not None:
        texts.append(subject.recipe.draft.mask_token)
    for text in dict.fromkeys(text for text in texts if isinstance(text, str)):
        token = target.tokens.get(text)
        if mask is not None and token is not None and token != mask.value:
            message = f"{quoted(text)} is token {token} of the target, the mask token is {shown(mask.value)}"
            lines = _lines(subject, "mask_token_id")
            yield Finding(message, "write text and id of one token", place(pointer), lines)


@rule(
    "C121",
    "mask-token-twin",
    severity=Severity.NOTE,
    level=Level.DEEP,
    needs=("config", "target", "mask_twins"),
)
def mask_token_twin(subject: Subject) -> Iterable[Finding]:
    """The embedding of the mask token is also that of another token.

    What it does: compares the mask token's row of the target's embedding with every other row, at deep level.
    Why is this bad: it is not; unused tokens often share one untrained row. But a draft cannot tell such
    tokens from a mask.
    Example: a reserved token as mask, whose row equals those of 100 other reserved tokens.
    Use instead: nothing, if the draft was trained so.
    Since: 0.1.0
    """
    mask = subject.mask
    twins = subject.mask_twins or ()
    if mask is not None and twins:
        others = ", ".join(map(str, twins[:5])) + (", ..." if len(twins) > 5 else "")
        message = f"the target's embedding of mask token {mask.value} is also that of {others}"
        yield Finding(message, "nothing to do, if the draft was trained so", place(mask.pointer))


def _target(subject: Subject) -> TargetModel:
    assert subject.target is not None
    return subject.target


def _differing(subject: Subject, key: str, fact: str) -> Iterable[Finding]:
    """The draft's ``key`` where it is not the target's ``fact``."""
    target = _target(subject)
    theirs: int = getattr(target, fact)
    for each in subject.stated.get(key, ())[:1]:
        if not same(each.value, theirs):
            message = f"{key} is {shown(each.value)}, and the target has {theirs:,}"
            hint = "give the target that the draft was made for, or correct the draft's config"
            yield Finding(message, hint, place(each.pointer), _lines(subject, key))


def _lines(subject: Subject, key: str) -> tuple[Where, ...]:
    return (*against(subject, key), _target(subject).where())
