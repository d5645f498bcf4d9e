"""C rules about the draft against its target, as the recipe and the target file state them."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.drafts.keys import DIFFUSION
from zoo.results import Finding
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


@rule("C027", "target-hidden-size", needs=("recipe",))
def target_hidden_size(subject: Subject) -> Iterable[Finding]:
    """The draft is not as wide as its target.

    What it does: compares draft.config.hidden_size (for EAGLE3 target_hidden_size, where it is stated) with
    hidden_size of the target file.
    Why is this bad: fc takes the target's hidden states at the draft's own width; the first forward pass
    dies.
    Example: hidden_size: 4096 in the recipe, 7168 in the target file.
    Use instead: the width of the target.
    Sources: sglang 0.5.14 ("DFLASH target_hidden feature dim mismatch").
    Since: 0.1.0
    """
    assert subject.recipe is not None
    config, theirs = subject.recipe.draft.config, subject.recipe.target.hidden_size
    # An EAGLE3 draft may be narrower: fc takes target_hidden_size in, and gives hidden_size.
    own = subject.keys is not DIFFUSION and config.get("target_hidden_size") is not None
    key = "target_hidden_size" if own else "hidden_size"
    ours = config[key]
    if ours != theirs:
        where = subject.recipe.where(f"/draft/config/{key}")
        message = f"the draft is made for a hidden size of {ours:,}, its target has {theirs:,}"
        hint = f"correct one of the two; {key} is the width of the target"
        yield Finding(message, hint, where, (subject.recipe.target.where("/hidden_size"),))


@rule("C028", "target-vocabulary", needs=("recipe",))
def target_vocabulary(subject: Subject) -> Iterable[Finding]:
    """The draft has another vocabulary than its target.

    What it does: compares draft.config.vocab_size with vocab_size of the target file.
    Why is this bad: embedding and head are the target's; another size is a draft for another target.
    Example: vocab_size: 151936 in the recipe, 163840 in the target file.
    Use instead: the vocabulary of the target.
    Sources: vllm-project/vllm#5203; ggml-org/llama.cpp#3812.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    ours, theirs = subject.recipe.draft.config["vocab_size"], subject.recipe.target.vocab_size
    if ours != theirs:
        where = subject.recipe.where("/draft/config/vocab_size")
        message = f"the draft has a vocabulary of {ours:,}, its target {theirs:,}"
        hint = "correct one of the two; the draft uses the target's embedding and head"
        yield Finding(message, hint, where, (subject.recipe.target.where("/vocab_size"),))
