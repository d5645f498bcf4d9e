"""E: the speculative part of a vLLM command."""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.vllm import METHODS, SPECULATIVE_CONFIG, guessed_method, speculative_config
from zoo.printable import quoted
from zoo.results import Finding, Severity
from zoo.rules.profiles import argument, commands, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


@rule("E037", "vllm-method-guessed", severity=Severity.WARNING, needs=("profiles",))
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
    family = "" if subject.drafted is None else subject.drafted.family
    for profile, argv in commands(subject, "vllm"):
        stated = speculative_config(argv)
        path = str(stated.get("model") or ("" if subject.recipe is None else subject.recipe.repo))
        if stated.get("method") is None and path:
            wanted = METHODS.get(family, "the method of the draft")
            yield Finding(
                f"{label(profile)}: no method; from {quoted(path, 80)} vLLM guesses {guessed_method(path)}",
                f'add "method": "{wanted}"',
                argument(profile, *SPECULATIVE_CONFIG, "--spec-model"),
            )


@rule("E038", "vllm-method", needs=("profiles", "drafted"))
def vllm_method_is_another(subject: Subject) -> Iterator[Finding]:
    """A vLLM profile serves the draft by another method than its family needs.

    What it does: Compares the method, where one is given, with that of the family.
    Why is this bad: The draft does not load, or proposes nothing that is accepted.
    Example: "method": "eagle" for a DFlash draft
    Use instead: "method": "dflash"
    Sources: vllm 0.33.0, config/speculative.py
    Since: 0.1.0
    """
    draft = subject.drafted
    assert draft is not None
    wanted = METHODS.get(draft.family)
    for profile, argv in commands(subject, "vllm"):
        method = speculative_config(argv).get("method")
        if method is not None and wanted is not None and method != wanted:
            yield Finding(
                f"{label(profile)}: method {quoted(str(method), 40)}, a {draft.family} draft needs {wanted}",
                f'write "method": "{wanted}"',
                argument(profile, "--spec-method", *SPECULATIVE_CONFIG),
                (draft.family_at,),
            )


@rule("E039", "vllm-draft-tokens", needs=("profiles", "drafted"))
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
    draft = subject.drafted
    assert draft is not None
    wanted = draft.proposed
    for profile, argv in commands(subject, "vllm"):
        stated = speculative_config(argv).get("num_speculative_tokens")
        may_be_absent = draft.family == "dspark"
        if wanted is None or str(stated) == str(wanted) or (stated is None and may_be_absent):
            continue
        shown = "is not given" if stated is None else f"is {quoted(str(stated), 40)}"
        yield Finding(
            f"{label(profile)}: num_speculative_tokens {shown}, the draft proposes {wanted} per step",
            f'write "num_speculative_tokens": {wanted}',
            argument(profile, "--spec-tokens", *SPECULATIVE_CONFIG),
            (draft.block_at,),
        )
