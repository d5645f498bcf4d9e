"""E: arguments that a version of SGLang refuses, overrides or does not know (docs/hazards.md)."""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.flags import flag_value, has_flag
from zoo.engines.hardware import is_blackwell, is_sm100
from zoo.engines.sglang import (
    MLA_BACKENDS,
    READ,
    algorithm,
    algorithms,
    attention_backends,
    draft_attention_backend,
    draft_backends,
)
from zoo.engines.sglang_arguments import EAGLE, OVERRIDDEN, REFUSED, Argument, refused_eagle_arguments
from zoo.printable import quoted
from zoo.recipe.model import Profile
from zoo.results import Finding, Severity
from zoo.rules.profiles import argument, commands, engine_of, hides_arguments, label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_ATTENTION = ("--attention-backend", "--decode-attention-backend", "--prefill-attention-backend")
_ALGORITHM = ("--speculative-algorithm", "--speculative-algo")
_DRAFT_ATTENTION = "--speculative-draft-attention-backend"


@rule("E018", "blackwell-only", needs=("profiles",))
def mla_backend_off_blackwell(subject: Subject) -> Iterator[Finding]:
    """A profile names an MLA backend that its GPU cannot run.

    What it does: Looks for trtllm_mla, tokenspeed_mla and cutedsl_mla beside a GPU that is known not to be
    Blackwell (cutedsl_mla: not a data centre Blackwell). A GPU of an unknown name is left alone.
    Why is this bad: The server refuses to start.
    Example: --attention-backend trtllm_mla with hardware: {gpu: H200}
    Use instead: No --attention-backend (Hopper takes fa3), or a B200
    Sources: sglang 0.5.14, server_args.py ("only supported on Blackwell GPUs"); 0.5.23,
    arg_groups/overrides.py
    Since: 0.1.0
    """
    for profile, argv in commands(subject, "sglang"):
        for backend in attention_backends(argv):
            runs = is_sm100(profile.gpu) if backend == "cutedsl_mla" else is_blackwell(profile.gpu)
            if backend in MLA_BACKENDS and runs is False:
                yield Finding(
                    f"{label(profile)}: {backend} does not run on {quoted(profile.gpu, 40)}",
                    "drop it, or serve on Blackwell GPUs",
                    argument(profile, *_ATTENTION),
                    (profile.where("/hardware/gpu"),),
                )


@rule("E030", "mla-kv-cache-dtype", needs=("profiles",))
def mla_backend_with_another_kv_dtype(subject: Subject) -> Iterator[Finding]:
    """A profile's KV cache dtype is one that its MLA backend refuses.

    What it does: Compares --kv-cache-dtype with what trtllm_mla and (before 0.5.23) tokenspeed_mla accept.
    Why is this bad: The server refuses to start: trtllm_mla knows bf16 but not the spelling bfloat16, which
    the flag itself allows, and tokenspeed_mla wants fp8_e4m3 and nothing else, not even auto.
    Example: --attention-backend trtllm_mla --kv-cache-dtype bfloat16
    Use instead: --kv-cache-dtype bf16
    Sources: sglang 0.5.14 and 0.5.22, server_args.py; 0.5.23, arg_groups/overrides.py and serving_hook.py,
    where tokenspeed_mla became another name of cutedsl_mla and sets fp8_e4m3 by itself
    Since: 0.1.0
    """
    for profile, argv in commands(subject, "sglang"):
        stated = flag_value(argv, "--kv-cache-dtype")
        own, decode = flag_value(argv, "--attention-backend"), flag_value(argv, "--decode-attention-backend")
        for backend, needed in _kv_dtypes(profile).items():
            if backend in (own, decode) and (stated or "auto") not in needed:
                shown = "is not set" if stated is None else f"is {quoted(stated, 40)}"
                yield Finding(
                    f"{label(profile)}: --kv-cache-dtype {shown}; in {engine_of(profile)} {backend} "
                    f"takes {' or '.join(needed)}",
                    f"pass --kv-cache-dtype {needed[0]}",
                    argument(profile, "--kv-cache-dtype", *_ATTENTION),
                )


def _kv_dtypes(profile: Profile) -> dict[str, tuple[str, ...]]:
    """What each backend accepts; the first is the one to write."""
    if profile.version not in READ:
        return {}
    # fp4_e2m1 went out in 0.5.21, where the flag itself lost it.
    accepted = {"trtllm_mla": ("bf16", "fp8_e4m3", "fp4_e2m1", "auto")}
    return accepted | ({"tokenspeed_mla": ("fp8_e4m3",)} if profile.version.release < (0, 5, 23) else {})


@rule("E031", "draft-attention-fallback", severity=Severity.WARNING, needs=("profiles",))
def draft_attention_falls_back(subject: Subject) -> Iterator[Finding]:
    """The draft runs with another attention backend than the profile names.

    What it does: Compares --speculative-draft-attention-backend, or what the draft inherits where it is not
    set, with the backends that a DFLASH draft may have in that version.
    Why is this bad: The flag takes any text. For a typo, or for trtllm_mla inherited from the target, SGLang
    only warns and takes flashinfer (triton on ROCm): the draft is served by kernels that nobody chose.
    Example: --speculative-draft-attention-backend flash4
    Use instead: --speculative-draft-attention-backend fa4 (or fa3, flashinfer, triton)
    Sources: sglang 0.5.14, speculative/dflash_worker_v2.py; 0.5.17, 0.5.20 and 0.5.23,
    arg_groups/speculative_hook.py
    Since: 0.1.0
    """
    for profile, argv in commands(subject, "sglang"):
        backend = draft_attention_backend(argv)
        if algorithm(argv) != "DFLASH" or profile.version not in READ or backend is None:
            continue
        if backend in draft_backends(profile.version) and _runs_trtllm(subject, backend):
            continue
        inherited = flag_value(argv, _DRAFT_ATTENTION) is None
        whose = "the draft inherits" if inherited else f"{_DRAFT_ATTENTION} is"
        yield Finding(
            f"{label(profile)}: {whose} {quoted(backend, 40)}; {engine_of(profile)} warns and runs "
            "this draft with a backend of its own choice",
            f"pass {_DRAFT_ATTENTION} with one of {', '.join(draft_backends(profile.version))}",
            argument(profile, _DRAFT_ATTENTION, *_ATTENTION),
        )


def _runs_trtllm(subject: Subject, backend: str) -> bool:
    """trtllm_mha needs sliding windows in every layer, or a causal draft; other backends run any. A draft
    that nobody named may be such a one."""
    if backend != "trtllm_mha" or subject.drafted is None:
        return True
    config = subject.drafted.config
    return set(config.get("layer_types") or ()) == {"sliding_attention"} or config.get("is_causal") is True


@rule("E032", "algorithm-unknown", needs=("profiles",))
def algorithm_is_unknown(subject: Subject) -> Iterator[Finding]:
    """A profile names an algorithm that its engine version does not know.

    What it does: Compares --speculative-algorithm with the algorithms of that version of SGLang.
    Why is this bad: The server refuses to start. A DSpark draft, for one, needs 0.5.16.
    Example: --speculative-algorithm DSPARK with sglang==0.5.14
    Use instead: A version that knows it. (A name that a plugin registers is fine: waive the finding.)
    Sources: sglang 0.5.14 to 0.5.23, speculative/spec_info.py ("Unknown speculative algorithm name")
    Since: 0.1.0
    """
    for profile, argv in commands(subject, "sglang"):
        named, known = algorithm(argv), algorithms(profile.version)
        if named and profile.version in READ and named not in known:
            yield Finding(
                f"{label(profile)}: {engine_of(profile)} does not know algorithm {quoted(named, 40)}",
                f"it knows {', '.join(known)}; take a version that knows yours",
                argument(profile, *_ALGORITHM),
                (profile.where("/engine"),),
            )


@rule("E033", "argument-refused", needs=("profiles",))
def argument_is_refused(subject: Subject) -> Iterator[Finding]:
    """A profile passes an argument that its engine refuses beside this algorithm.

    What it does: Looks for pipeline parallelism, DP attention, LoRA, the radix cache of a decode server, a
    draft window below the block size, and a number of draft tokens that contradicts the block size beside it,
    for the algorithms and versions that refuse them.
    Why is this bad: The server refuses to start.
    Example: --speculative-algorithm DFLASH --pp-size 2
    Use instead: The algorithm without that argument
    Sources: sglang 0.5.14 to 0.5.23, arg_groups/{speculative,pd_disaggregation}_hook.py, server_args.py
    Since: 0.1.0
    """
    yield from _look_up(subject, REFUSED, "is refused with")


@rule("E034", "argument-without-effect", severity=Severity.WARNING, needs=("profiles",))
def argument_has_no_effect(subject: Subject) -> Iterator[Finding]:
    """A profile passes an argument that its engine overrides or ignores beside this algorithm.

    What it does: Looks for steps and top-k of a DFLASH draft, mixed chunks, a token map of an EAGLE3 draft, a
    draft window of another algorithm, and the number of draft tokens of an EAGLE chain.
    Why is this bad: SGLang logs one warning and does something else: the command does not say what is served.
    Example: --speculative-algorithm DFLASH --speculative-num-steps 3
    Use instead: The command without that argument
    Sources: sglang 0.5.14 to 0.5.23, arg_groups/speculative_hook.py, eagle_worker_v2.py, dflash_utils.py
    Since: 0.1.0
    """
    yield from _look_up(subject, OVERRIDDEN, "has no effect with")


def _look_up(subject: Subject, table: tuple[Argument, ...], verdict: str) -> Iterator[Finding]:
    """The findings of every entry of ``table`` that a profile runs into."""
    for profile, argv in commands(subject, "sglang"):
        named = algorithm(argv)
        for entry in table:
            if entry.lacks and hides_arguments(subject, profile):
                continue
            if named in entry.algorithms and profile.version in entry.versions and entry.given(argv):
                shown = next(flag for flag in entry.flags if has_flag(argv, flag))
                yield Finding(
                    f"{label(profile)}: {shown} {verdict} {named} by {engine_of(profile)}: {entry.why}",
                    entry.advice,
                    argument(profile, shown),
                )


@rule("E035", "eagle-arguments", needs=("profiles",))
def eagle_arguments_are_refused(subject: Subject) -> Iterator[Finding]:
    """A profile's steps, top-k and draft tokens do not go together for EAGLE.

    What it does: For EAGLE, EAGLE3, NEXTN and STANDALONE wants --speculative-num-steps and
    --speculative-eagle-topk together or neither, and a top-k above 1 only where the attention backend can.
    Why is this bad: The server stops with a bare AssertionError or TypeError, or refuses the backend.
    Example: --speculative-eagle-topk 4 --speculative-num-draft-tokens 8, and no --speculative-num-steps
    Use instead: All three of them, or none
    Sources: sglang 0.5.14 to 0.5.23, arg_groups/speculative_hook.py, _handle_eagle_family
    Since: 0.1.0
    """
    for profile, argv in commands(subject, "sglang"):
        if algorithm(argv) not in EAGLE or profile.version not in READ:
            continue
        for flag, why, advice in refused_eagle_arguments(argv):
            yield Finding(f"{label(profile)}: {why}", advice, argument(profile, flag))
