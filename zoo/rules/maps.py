"""D010 to D017: the values of the vocabulary maps d2t and t2d, which are read at header level.

A map is judged once: the first thing that is wrong with d2t is reported, and t2d is compared with a d2t that
is right. A draft without maps has nothing to judge.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from zoo.checkpoint.maps import VocabularyMaps
from zoo.printable import quoted
from zoo.results import Finding, Where
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

# Of so many of a target's tokens, some are always neighbours: the bytes alone stand side by side.
_TELLING = 64
_AGAIN = "export again with the vocabulary map that the draft was trained with"


@rule("D010", "map-identity", needs=("maps",))
def map_identity(subject: Subject) -> Iterable[Finding]:
    """d2t maps the draft's tokens to a plain slice of the target's vocabulary.

    What it does: with fewer draft tokens than target tokens, looks for a d2t that is one number throughout:
    all zero (tokens 0 to D-1), or a slice that starts elsewhere.
    Why is this bad: it is the value that the buffer was made with. The draft was trained on the most frequent
    tokens; with this map it proposes other words, and almost none is accepted.
    Example: d2t all zero with 32,000 draft tokens for a target of 151,936.
    Use instead: the map of the training run; for a whole vocabulary, all zero is right.
    Sources: specforge 0.2.0 modeling/draft/llama3_eagle.py (the buffer starts at zero); speculators 0.9.0
    model.py; NVIDIA-NeMo/Automodel#2447; the identity slice of verl-SpeCo#66.
    Since: 0.1.0
    """
    maps = _maps(subject)
    if _wrong(maps) == "identity":
        ids, last = maps.ids, maps.ids[-1]
        what = "all zero" if ids[0] == 0 else f"{ids[0]:,} throughout"
        message = f"{quoted(maps.d2t)} is {what}: the draft's tokens are the target's {ids[0]:,} to {last:,}"
        yield Finding(message, _AGAIN, _at(subject, maps.d2t))


@rule("D011", "map-order", needs=("maps",))
def map_order(subject: Subject) -> Iterable[Finding]:
    """d2t does not count up: two draft tokens are one target token, or they are out of order.

    What it does: d2t[i] + i must increase from each draft token to the next.
    Why is this bad: every writer sorts the target's tokens. Two draft tokens for one target token split its
    probability, and another order means that map and head are of two drafts.
    Example: offsets [0, 5, 4], which are the target's tokens 0, 6, 6.
    Use instead: the map that was written with this head.
    Sources: specforge 0.2.0 data/preprocessing.py (used_tokens.sort()); sglang 0.5.14 models/llama_eagle3.py.
    Since: 0.1.0
    """
    maps = _maps(subject)
    if _wrong(maps) == "order":
        ids = maps.ids
        index = next(i for i in range(1, len(ids)) if ids[i] <= ids[i - 1])
        twice = len(set(ids)) < len(ids)
        what = "names target tokens twice" if twice else "is not in the order of the target's tokens"
        message = (
            f"{quoted(maps.d2t)} {what}: draft token {index - 1:,} is target token {ids[index - 1]:,}, "
            f"draft token {index:,} is {ids[index]:,}"
        )
        yield Finding(message, _AGAIN, _at(subject, maps.d2t))


@rule("D012", "map-range", needs=("maps",))
def map_range(subject: Subject) -> Iterable[Finding]:
    """d2t leads out of the target's vocabulary.

    What it does: d2t[i] + i must lie in 0 to V-1; V is the length of t2d or, without it, vocab_size.
    Why is this bad: the engine reads beyond its table, or dies at the first such proposal.
    Example: offsets of a target of 151,936 tokens in a draft for one of 128,256.
    Use instead: the map of the training run for this target.
    Sources: vLLM 0.33.0 model_executor/models/interfaces.py (draft_id_to_target_id).
    Since: 0.1.0
    """
    maps = _maps(subject)
    if _wrong(maps) == "range":
        outside = [id_ for id_ in maps.ids if not 0 <= id_ < maps.vocabulary]
        message = (
            f"{quoted(maps.d2t)} leads {len(outside):,} draft tokens out of the target's vocabulary (0 to "
            f"{maps.vocabulary - 1:,}), the first to {outside[0]:,}"
        )
        yield Finding(message, _AGAIN, _at(subject, maps.d2t))


@rule("D013", "map-absolute-ids", needs=("maps",))
def map_absolute_ids(subject: Subject) -> Iterable[Finding]:
    """d2t holds the ids of target tokens, not offsets.

    What it does: recognises ids: d2t names exactly the tokens of t2d; or, without t2d, it increases at every
    single step, which as offsets would mean that the draft has no two neighbouring tokens.
    Why is this bad: engines add the index of the draft token to what they find, so every proposal is another
    word.
    Example: d2t [0, 1, 2, 7] for the target's tokens 0, 1, 2 and 7; as offsets these are [0, 0, 0, 4].
    Use instead: d2t - arange(len(d2t)).
    Sources: specforge 0.2.0 data/preprocessing.py; sglang 0.5.14 models/llama_eagle3.py ("d2t stores diffs").
    Since: 0.1.0
    """
    maps = _maps(subject)
    if _wrong(maps) == "absolute":
        message = f"{quoted(maps.d2t)} holds the ids of target tokens, and engines take them for offsets"
        hint = "subtract each token's index: d2t - torch.arange(len(d2t))"
        yield Finding(message, hint, _at(subject, maps.d2t))


@rule("D014", "map-bytes", needs=("maps",))
def map_bytes(subject: Subject) -> Iterable[Finding]:
    """t2d holds bytes that are neither 0 nor 1.

    What it does: looks at every byte of t2d.
    Why is this bad: a bool of another byte is true to one reader and undefined to the next; it is what a cast
    or a damaged file leaves.
    Example: the byte 255 in t2d.
    Use instead: a tensor of torch.bool.
    Since: 0.1.0
    """
    maps = _maps(subject)
    odd = [byte for byte in set(maps.flags or b"") if byte > 1]
    if odd:
        message = f"{quoted(maps.t2d)} holds the byte {min(odd)}, which is neither 0 nor 1"
        yield Finding(message, "write it again as torch.bool", _at(subject, maps.t2d))


@rule("D015", "map-count", needs=("maps",))
def map_count(subject: Subject) -> Iterable[Finding]:
    """t2d has another number of tokens than the draft's vocabulary.

    What it does: the number of ones in t2d must be the length of d2t, or of draft_vocab_size without a d2t.
    Why is this bad: trainers select the target's logits by t2d; another number is the map of another draft.
    Example: 31,999 ones for 32,000 draft tokens.
    Use instead: the two maps of one training run.
    Sources: speculators 0.9.0 model.py (load_vocab_mappings refuses it); specforge 0.2.0
    training/strategies/base.py.
    Since: 0.1.0
    """
    maps = _maps(subject)
    if maps.flags is None or max(maps.flags, default=0) > 1 or _wrong(maps):
        return
    size = _draft_vocabulary(subject) if maps.offsets is None else len(maps.offsets)
    if size is not None and len(maps.used) != size:
        message = f"{quoted(maps.t2d)} has {len(maps.used):,} tokens, the draft's vocabulary {size:,}"
        yield Finding(message, _AGAIN, _at(subject, maps.t2d))


@rule("D016", "map-contradiction", needs=("maps",))
def map_contradiction(subject: Subject) -> Iterable[Finding]:
    """d2t and t2d name different tokens.

    What it does: the tokens that d2t stands for must be those that t2d has.
    Why is this bad: the draft was trained for the tokens of one map and is served with the other.
    Example: d2t stands for token 17, and t2d[17] is 0.
    Use instead: the two maps of one training run.
    Sources: specforge 0.2.0 training/strategies/base.py (validate_vocab_mapping_consistency).
    Since: 0.1.0
    """
    maps = _maps(subject)
    if maps.offsets is None or maps.flags is None or max(maps.flags, default=0) > 1 or _wrong(maps):
        return
    if len(maps.used) == len(maps.ids) and maps.used != maps.ids:
        index, ours = next((i, id_) for i, id_ in enumerate(maps.ids) if id_ != maps.used[i])
        message = (
            f"{quoted(maps.d2t)} and {quoted(maps.t2d)} differ: draft token {index:,} is target token "
            f"{ours:,} by the one, {maps.used[index]:,} by the other"
        )
        yield Finding(message, _AGAIN, _at(subject, maps.d2t), (_at(subject, maps.t2d),))


@rule("D017", "map-of-the-base", needs=("maps", "base_maps"))
def map_of_the_base(subject: Subject) -> Iterable[Finding]:
    """A vocabulary map is not the base draft's.

    What it does: compares d2t and t2d with the base's, where both have them.
    Why is this bad: a fine-tune keeps the head of its base, so that row i means the same token; another map
    renames every row.
    Example: a map that was counted again on the fine-tuning data.
    Use instead: the maps of the base.
    Since: 0.1.0
    """
    ours, theirs = _maps(subject), subject.base_maps
    assert theirs is not None
    pairs = ((ours.d2t, ours.offsets, theirs.offsets), (ours.t2d, ours.flags, theirs.flags))
    for name, one, other in pairs:
        if one is not None and other is not None and one != other:
            related = () if subject.recipe is None else (subject.recipe.where("/base"),)
            message = f"{quoted(name)} is not the base draft's"
            yield Finding(message, "take the base's map", _at(subject, name), related)


def _maps(subject: Subject) -> VocabularyMaps:
    assert subject.maps is not None
    return subject.maps


def _wrong(maps: VocabularyMaps) -> str:
    """The first thing that is wrong with d2t, in one word; "" if nothing (or no d2t)."""
    if not maps.offsets:
        return ""
    ids = maps.ids
    if _holds_ids(maps):
        return "absolute"
    if min(ids) < 0 or max(ids) >= maps.vocabulary:
        return "range"
    if len(ids) < maps.vocabulary and len(set(maps.offsets)) == 1:
        return "identity"
    return "order" if any(after <= before for before, after in pairwise(ids)) else ""


def _holds_ids(maps: VocabularyMaps) -> bool:
    """Whether d2t is a list of target ids."""
    offsets = maps.offsets or ()
    if maps.flags is not None:
        return maps.ids != maps.used and tuple(sorted(offsets)) == maps.used
    increasing = all(after > before for before, after in pairwise(offsets))
    return increasing and len(offsets) >= _TELLING


def _draft_vocabulary(subject: Subject) -> int | None:
    stated = subject.stated.get("draft_vocab_size", ())
    return stated[0].value if stated and type(stated[0].value) is int else None


def _at(subject: Subject, tensor: str) -> Where:
    assert subject.checkpoint is not None
    return Where(subject.checkpoint.file_of[tensor], tensor=tensor)
