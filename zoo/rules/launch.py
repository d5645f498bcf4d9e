"""L rules: the launch command of each declared profile against the draft. (Linting any command against an
engine's flags is more.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zoo.engines.flags import flag_value
from zoo.engines.launch import launch_argv
from zoo.printable import quoted
from zoo.recipe.config import proposals
from zoo.recipe.model import ModelRef, Profile
from zoo.results import Finding, Severity, Where
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


@rule("L001", "launch-block-size", needs=("recipe",))
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
    assert subject.recipe is not None
    proposed = proposals(subject.recipe)
    if proposed is None:
        return
    own = _DFLASH_BLOCK if subject.recipe.checkpoint.family != "dspark" else _DSPARK_BLOCK
    block = subject.recipe.draft.block_size
    flags = {own: block, "--speculative-num-draft-tokens": proposed + 1}
    for profile, argv in _commands(subject):
        for flag, needed in flags.items():
            value = flag_value(argv, flag)
            if value is not None and value != str(needed):
                family = subject.recipe.checkpoint.family
                message = f"{flag} is {quoted(value)}, a {family} draft of block size {block} needs {needed}"
                yield Finding(message, f"write {flag} {needed}", _line(profile, flag), _block(subject))


@rule("L002", "launch-heads", needs=("recipe",))
def launch_heads(subject: Subject) -> Iterable[Finding]:
    """A profile's tensor parallelism does not divide the heads of the draft.

    What it does: attention heads must divide by tp; KV heads must divide by tp or tp by them.
    Why is this bad: the server dies with an assertion while it loads the draft.
    Example: --tp 8 for a draft with 12 heads.
    Use instead: a tp that fits.
    Sources: sglang 0.5.14 models/dflash.py, DFlashAttention.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    config = subject.recipe.draft.config
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    for profile, argv in _commands(subject):
        value = flag_value(argv, *TP_FLAGS)
        tp = int(value) if value is not None and value.isdecimal() else 1
        if tp > 1 and (heads % tp or (kv_heads % tp and tp % kv_heads)):
            message = f"tp {tp} does not divide {heads} attention heads and {kv_heads} KV heads"
            related = (subject.recipe.where("/draft/config/num_attention_heads"),)
            yield Finding(message, "choose a tp that divides the heads", _line(profile, *TP_FLAGS), related)


@rule("L003", "launch-algorithm", needs=("recipe",))
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
    assert subject.recipe is not None
    wanted = ALGORITHM.get(subject.recipe.checkpoint.family, "")
    for profile, argv in _commands(subject):
        value = flag_value(argv, "--speculative-algorithm", "--speculative-algo")
        family = subject.recipe.checkpoint.family
        if profile.engine == "sglang" and not wanted:
            message = f"no SGLang version that is known here serves a {family} draft"
            yield Finding(message, "serve it with an engine that does", profile.where("/engine"))
        elif profile.engine == "sglang" and (value or "").upper() != wanted:
            message = f"the algorithm is {quoted(value or 'not given')}, a {family} draft needs {wanted}"
            hint = f"write --speculative-algorithm {wanted}"
            related = (subject.recipe.where("/checkpoint/family"),)
            yield Finding(message, hint, _line(profile, "--speculative-algorithm"), related)


@rule("L004", "launch-models", needs=("recipe",))
def launch_models(subject: Subject) -> Iterable[Finding]:
    """A profile's command does not name both models.

    What it does: looks for {target} and {draft} in the arguments.
    Why is this bad: without a draft path SGLang loads the target as its own draft.
    Example: no --speculative-draft-model-path {draft}.
    Use instead: --model-path {target} and --speculative-draft-model-path {draft}.
    Sources: sgl-project/sglang#36528.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    for profile in subject.recipe.profiles:
        text = " ".join(profile.args)
        for model in ("{target}", "{draft}"):
            if model not in text:
                message = f"the arguments of profile {profile.name} do not name {model}"
                yield Finding(message, f"add an argument with {model}", profile.where("/args"))


@rule("L005", "launch-gpus", severity=Severity.WARNING, needs=("recipe",))
def launch_gpus(subject: Subject) -> Iterable[Finding]:
    """A profile's tensor parallelism is not its number of GPUs.

    What it does: compares --tp with hardware.count (without --pp-size and --dp-size, which share them out).
    Why is this bad: GPUs stand idle, or the server does not start.
    Example: --tp 4 with count: 8.
    Use instead: the same number.
    Since: 0.1.0
    """
    for profile, argv in _commands(subject):
        shared = flag_value(argv, "--pp-size", "--dp-size", "--dp", "--nnodes")
        tp = flag_value(argv, *TP_FLAGS) or "1"
        if shared is None and tp != str(profile.gpus):
            message = f"tp is {quoted(tp)}, the hardware has {profile.gpus} GPUs"
            yield Finding(message, "write the same number in both", _line(profile, *TP_FLAGS))


def _commands(subject: Subject) -> Iterator[tuple[Profile, list[str]]]:
    assert subject.recipe is not None
    for profile in subject.recipe.profiles:
        yield (
            profile,
            launch_argv(profile, target=subject.recipe.target.served, draft=ModelRef(subject.recipe.repo)),
        )


def _line(profile: Profile, *flags: str) -> Where:
    """The line of the profile that holds one of ``flags``."""
    for index, line in enumerate(profile.args):
        if line.split("=")[0].split(" ")[0] in flags:
            return profile.where(f"/args/{index}")
    return profile.where("/args")


def _block(subject: Subject) -> tuple[Where, ...]:
    assert subject.recipe is not None
    return (subject.recipe.where("/draft/block_size"),)
