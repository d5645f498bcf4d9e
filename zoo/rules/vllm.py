"""E: the speculative part of a vLLM command."""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.vllm import METHODS, guessed_method, speculative_config
from zoo.printable import quoted
from zoo.recipe.config import proposals
from zoo.results import Finding, Severity
from zoo.rules.profiles import argument, commands, recipe_of
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_CONFIG = ("--speculative-config", "-sc")


@rule("E037", "vllm-method-guessed", severity=Severity.WARNING, needs=("recipe",))
def vllm_method_is_guessed(subject: Subject) -> Iterator[Finding]:
    """A vLLM profile does not say how the draft is to be served.

    What it does: Looks for "method" in --speculative-config, and for --spec-method.
    Why is this bad: Without it vLLM looks for the words eagle3, dflash and dspark in the path of the draft.
    From a folder of another name the same draft is loaded as an independent model.
    Example: --speculative-config '{"model": "{draft}", "num_speculative_tokens": 7}'
    Use instead: The same with "method": "dflash"
    Sources: vllm 0.33.0, config/speculative.py; vllm-project/vllm#21737
    Since: 0.1.0
    """
    recipe = recipe_of(subject)
    for profile, argv in commands(subject, "vllm"):
        if speculative_config(argv).get("method") is None:
            wanted = METHODS.get(recipe.checkpoint.family, "the method of the draft")
            guessed = guessed_method(recipe.repo)
            yield Finding(
                f"profile {profile.name}: no method; from {quoted(recipe.repo, 80)} vLLM guesses {guessed}",
                f'add "method": "{wanted}"',
                argument(profile, *_CONFIG, "--spec-model"),
            )


@rule("E038", "vllm-method", needs=("recipe",))
def vllm_method_is_another(subject: Subject) -> Iterator[Finding]:
    """A vLLM profile serves the draft by another method than its family needs.

    What it does: Compares the method, where one is given, with that of the family.
    Why is this bad: The draft does not load, or proposes nothing that is accepted.
    Example: "method": "eagle" for a DFlash draft
    Use instead: "method": "dflash"
    Sources: vllm 0.33.0, config/speculative.py
    Since: 0.1.0
    """
    recipe = recipe_of(subject)
    wanted = METHODS.get(recipe.checkpoint.family)
    for profile, argv in commands(subject, "vllm"):
        method = speculative_config(argv).get("method")
        if method is not None and wanted is not None and method != wanted:
            family = recipe.checkpoint.family
            yield Finding(
                f"profile {profile.name}: method {quoted(str(method), 40)}, a {family} draft needs {wanted}",
                f'write "method": "{wanted}"',
                argument(profile, "--spec-method", *_CONFIG),
                (recipe.where("/checkpoint/family"),),
            )


@rule("E039", "vllm-draft-tokens", needs=("recipe",))
def vllm_draft_tokens_differ(subject: Subject) -> Iterator[Finding]:
    """A vLLM profile asks for another number of draft tokens than the draft proposes.

    What it does: Compares num_speculative_tokens (or --spec-tokens) with the proposals per step: one less
    than a DFlash block, which counts the anchor token; a DSpark block as it is. Only DSpark may leave it out.
    Why is this bad: SGLang's flags count the anchor and vLLM's do not. With one token too many the draft runs
    on a block that it was not trained for, and nothing reports it; without the number vLLM does not start.
    Example: "num_speculative_tokens": 8 for block_size: 8
    Use instead: "num_speculative_tokens": 7
    Sources: vllm 0.33.0, config/speculative.py and v1/spec_decode/dflash.py (1 + num_speculative_tokens
    queries); vllm-project/speculators#456
    Since: 0.1.0
    """
    recipe = recipe_of(subject)
    wanted = proposals(recipe)
    for profile, argv in commands(subject, "vllm"):
        stated = speculative_config(argv).get("num_speculative_tokens")
        may_be_absent = recipe.checkpoint.family == "dspark"
        if wanted is None or str(stated) == str(wanted) or (stated is None and may_be_absent):
            continue
        shown = "is not given" if stated is None else f"is {quoted(str(stated), 40)}"
        yield Finding(
            f"profile {profile.name}: num_speculative_tokens {shown}, the draft proposes {wanted} per step",
            f'write "num_speculative_tokens": {wanted}',
            argument(profile, "--spec-tokens", *_CONFIG),
            (recipe.where("/draft/block_size"),),
        )
