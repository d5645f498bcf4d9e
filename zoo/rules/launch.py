"""L rules: a launch command, of a declared profile or found in a text, against the draft. (Against the flags
of its engine: ``flags``.)"""

from __future__ import annotations

from collections.abc import Iterable

from zoo.engines.flags import flag_value, has_flag
from zoo.engines.sglang import algorithm
from zoo.printable import quoted
from zoo.results import Finding, Severity
from zoo.rules.profiles import argument, commands, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

ALGORITHM = {
    "dflash": "DFLASH",
    "dflash2": "DFLASH",
    "domino": "DFLASH",
    "dspark": "DSPARK",
    "eagle3": "EAGLE3",
}
_DFLASH_BLOCK, _DSPARK_BLOCK = "--speculative-dflash-block-size", "--speculative-dspark-block-size"
TP_FLAGS = ("--tp-size", "--tp", "--tensor-parallel-size")
# Algorithms whose draft is a checkpoint of its own (EAGLE and NEXTN may take layers of the target).
_OF_A_DRAFT = ("DFLASH", "DSPARK", "EAGLE3", "STANDALONE")


@rule("L001", "launch-block-size", needs=("profiles", "drafted"))
def launch_block_size(subject: Subject) -> Iterable[Finding]:
    """A profile serves another block size than the draft was trained with.

    What it does: compares the block size flag of the draft's algorithm (--speculative-dflash-block-size or
    --speculative-dspark-block-size) and --speculative-num-draft-tokens with draft.block_size. The number of
    draft tokens of DSpark has the anchor besides, which its block does not count. (The flag of the other
    algorithm: E034.)
    Why is this bad: SGLang only warns and the command line wins; a block of 4 on a draft of 8 lost a
    quarter of the gain.
    Example: --speculative-num-draft-tokens 4 for block_size: 8.
    Use instead: the draft's block size, or no flag.
    Sources: sglang 0.5.14 dflash_worker_v2.py ("DFLASH block size mismatch"); sglang 0.5.23
    arg_groups/speculative_hook.py (_handle_dspark).
    Since: 0.1.0
    """
    draft = subject.drafted
    assert draft is not None
    if draft.proposed is None:
        return
    block, own = draft.block_size, _DFLASH_BLOCK if draft.family != "dspark" else _DSPARK_BLOCK
    flags = {own: block, "--speculative-num-draft-tokens": draft.proposed + 1}
    for profile, argv in commands(subject):
        for flag, needed in flags.items():
            value = flag_value(argv, flag)
            if value is not None and value != str(needed):
                message = (
                    f"{flag} is {quoted(value)}, a {draft.family} draft of block size {block} needs {needed}"
                )
                yield Finding(message, f"write {flag} {needed}", argument(profile, flag), (draft.block_at,))


@rule("L002", "launch-heads", needs=("profiles", "drafted"))
def launch_heads(subject: Subject) -> Iterable[Finding]:
    """A profile's tensor parallelism does not divide the heads of the draft.

    What it does: attention heads must divide by tp; KV heads must divide by tp or tp by them.
    Why is this bad: the server dies with an assertion while it loads the draft.
    Example: --tp 8 for a draft with 12 heads.
    Use instead: a tp that fits.
    Sources: sglang 0.5.14 models/dflash.py, DFlashAttention.
    Since: 0.1.0
    """
    draft = subject.drafted
    assert draft is not None
    heads, kv_heads = draft.attention_heads, draft.kv_heads
    for profile, argv in commands(subject):
        value = flag_value(argv, *TP_FLAGS)
        tp = int(value) if value is not None and value.isdecimal() else 1
        if heads and kv_heads and tp > 1 and (heads % tp or (kv_heads % tp and tp % kv_heads)):
            message = f"tp {tp} does not divide {heads} attention heads and {kv_heads} KV heads"
            where = argument(profile, *TP_FLAGS)
            yield Finding(message, "choose a tp that divides the heads", where, (draft.heads_at,))


@rule("L003", "launch-algorithm", needs=("profiles", "drafted"))
def launch_algorithm(subject: Subject) -> Iterable[Finding]:
    """A profile starts another algorithm than the draft's family needs, or none.

    What it does: wants --speculative-algorithm DFLASH for a DFlash, DFlash2 or Domino draft, DSPARK for a
    DSpark draft, EAGLE3 for an EAGLE3 draft.
    Why is this bad: under another algorithm the server starts and accepts nothing; without one it does not
    speculate.
    Example: --speculative-algorithm EAGLE.
    Use instead: --speculative-algorithm DFLASH.
    Sources: sgl-project/sglang#21272.
    Since: 0.1.0
    """
    draft = subject.drafted
    assert draft is not None
    wanted = ALGORITHM.get(draft.family, "")
    for profile, argv in commands(subject, "sglang"):
        value = flag_value(argv, "--speculative-algorithm", "--speculative-algo")
        if not wanted:
            message = f"no SGLang version that is known here serves a {draft.family} draft"
            yield Finding(message, "serve it with an engine that does", profile.where("/engine"))
        elif (value or "").upper() != wanted:
            message = (
                f"the algorithm is {quoted(value or 'not given')}, a {draft.family} draft needs {wanted}"
            )
            hint = f"write --speculative-algorithm {wanted}"
            where = argument(profile, "--speculative-algorithm", "--speculative-algo")
            yield Finding(message, hint, where, (draft.family_at,))


@rule("L004", "launch-models", needs=("profiles",))
def launch_models(subject: Subject) -> Iterable[Finding]:
    """A command does not name both models.

    What it does: looks for {target} and {draft} in the arguments of a profile ({speculative_config} names the
    draft too), and for --speculative-draft-model-path in an SGLang command that was found in a text and whose
    algorithm has a draft of its own.
    Why is this bad: without a draft path SGLang loads the target as its own draft, or stops.
    Example: no --speculative-draft-model-path {draft}.
    Use instead: --model-path {target} and --speculative-draft-model-path {draft}.
    Sources: sgl-project/sglang#36528.
    Since: 0.1.0
    """
    for launch in subject.launches:
        profile = launch.profile
        if launch.command is None:
            text = " ".join(profile.args).replace("{speculative_config}", "{draft}")
            for model in ("{target}", "{draft}"):
                if model not in text:
                    message = f"the arguments of profile {profile.name} do not name {model}"
                    yield Finding(message, f"add an argument with {model}", profile.where("/args"))
    for profile, argv in commands(subject, "sglang") if subject.commands else ():
        path = ("--speculative-draft-model-path", "--speculative-draft-model")
        if algorithm(argv) in _OF_A_DRAFT and not has_flag(argv, *path):
            message = f"{label(profile)}: {algorithm(argv)} without a draft"
            where = argument(profile, "--speculative-algorithm", "--speculative-algo")
            yield Finding(message, f"add {path[0]}", where)


@rule("L005", "launch-gpus", severity=Severity.WARNING, needs=("profiles",))
def launch_gpus(subject: Subject) -> Iterable[Finding]:
    """A profile's tensor parallelism is not its number of GPUs.

    What it does: compares --tp with hardware.count (without --pp-size and --dp-size, which share them out).
    Why is this bad: GPUs stand idle, or the server does not start.
    Example: --tp 4 with count: 8.
    Use instead: the same number.
    Since: 0.1.0
    """
    for profile, argv in commands(subject):
        shared = flag_value(argv, "--pp-size", "--dp-size", "--dp", "--nnodes")
        tp = flag_value(argv, *TP_FLAGS) or "1"
        if shared is None and profile.gpus and tp != str(profile.gpus):
            message = f"tp is {quoted(tp)}, the hardware has {profile.gpus} GPUs"
            yield Finding(message, "write the same number in both", argument(profile, *TP_FLAGS))
