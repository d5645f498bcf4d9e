"""Arguments that SGLang refuses or overrides beside a speculative algorithm, per version, as two tables.

Each entry was read in the wheel in which it begins or ends and in 0.5.14 and 0.5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from packaging.specifiers import SpecifierSet

from zoo.engines.flags import flag_value, has_flag
from zoo.engines.sglang import BLOCK_ALGORITHMS as _BLOCK
from zoo.engines.sglang import READ

Argv = Sequence[str]
EAGLE = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
_DRAFTED = (*EAGLE, *_BLOCK, "FROZEN_KV_MTP")  # all that run a draft model
_TREE_BACKENDS = ("flashinfer", "fa3", "triton")

_STEPS, _TOPK = "--speculative-num-steps", "--speculative-eagle-topk"
_TOKENS, _BLOCK_SIZE = "--speculative-num-draft-tokens", "--speculative-dflash-block-size"
_PP = ("--pp-size", "--pipeline-parallel-size")
_WINDOW = "--speculative-draft-window-size"


class Argument(NamedTuple):
    """One argument: ``flags`` are its spellings, ``given`` says whether a command runs into it."""

    flags: tuple[str, ...]
    algorithms: tuple[str, ...]
    versions: SpecifierSet
    given: Callable[[Argv], bool]
    why: str
    advice: str
    lacks: bool = False  # what is wrong is that another argument is not there


def number(argv: Argv, *flags: str) -> int | None:
    """The value of a flag as a whole number, or None."""
    value = flag_value(argv, *flags) or ""
    return int(value) if value.isdecimal() else None


def _passes(*flags: str) -> Callable[[Argv], bool]:
    return lambda argv: has_flag(argv, *flags)


def _other_than_one(*flags: str) -> Callable[[Argv], bool]:
    return lambda argv: number(argv, *flags) not in (None, 1)


def _dp_without_its_head(argv: Argv) -> bool:
    return has_flag(argv, "--enable-dp-attention") and not has_flag(argv, "--enable-dp-lm-head")


def _window_below_the_block(argv: Argv) -> bool:
    window, block = number(argv, _WINDOW), number(argv, _BLOCK_SIZE, _TOKENS)
    return window is not None and block is not None and window < block


def _block_differs(argv: Argv) -> bool:
    block, tokens = number(argv, _BLOCK_SIZE), number(argv, _TOKENS)
    return block is not None and tokens is not None and block != tokens


def _dspark_block_differs(argv: Argv) -> bool:
    block, tokens = number(argv, "--speculative-dspark-block-size"), number(argv, _TOKENS)
    return block is not None and tokens is not None and tokens != block + 1


def _chain_of_another_length(argv: Argv) -> bool:
    steps, tokens = number(argv, _STEPS), number(argv, _TOKENS)
    return number(argv, _TOPK) == 1 and None not in (steps, tokens) and tokens != (steps or 0) + 1


def _hidden_states_with_overlap(argv: Argv) -> bool:
    return has_flag(argv, "--enable-return-hidden-states") and not has_flag(
        argv, "--disable-overlap-schedule"
    )


REFUSED = (
    Argument(_PP, ("DFLASH",), READ, _other_than_one(*_PP), "it must be 1", "use tensor parallelism"),
    Argument(
        flags=("--enable-dp-attention",),
        algorithms=("DFLASH",),
        versions=SpecifierSet(">=0.5.14,<0.5.20"),
        given=_passes("--enable-dp-attention"),
        why="DP attention is not supported before 0.5.20",
        advice="drop it",
    ),
    Argument(
        flags=("--enable-dp-attention",),
        algorithms=("DFLASH",),
        versions=SpecifierSet(">=0.5.20,<=0.5.23"),
        given=_dp_without_its_head,
        why="it needs --enable-dp-lm-head",
        advice="add --enable-dp-lm-head",
        lacks=True,
    ),
    Argument(
        flags=("--enable-dp-attention",),
        algorithms=("STANDALONE",),
        versions=READ,
        given=_passes("--enable-dp-attention"),
        why="DP attention is not supported",
        advice="drop it",
    ),
    Argument(
        flags=("--enable-lora", "--lora-paths"),
        algorithms=_DRAFTED,
        versions=SpecifierSet(">=0.5.14,<0.5.19"),
        given=_passes("--enable-lora", "--lora-paths"),
        why="LoRA goes with NGRAM only",
        advice="merge the adapter into the target, or take 0.5.19",
    ),
    Argument(
        flags=("--disaggregation-decode-enable-radix-cache",),
        algorithms=("DFLASH",),
        versions=READ,
        given=_passes("--disaggregation-decode-enable-radix-cache"),
        why="a decode server has no radix cache with DFLASH",
        advice="drop it",
    ),
    Argument(
        flags=(_WINDOW,),
        algorithms=("DFLASH",),
        versions=READ,
        given=_window_below_the_block,
        why="the window is smaller than the block",
        advice="drop it, or pass at least the block size",
    ),
    Argument(
        flags=(_TOKENS,),
        algorithms=("DFLASH",),
        versions=READ,
        given=_block_differs,
        why=f"it differs from {_BLOCK_SIZE}",
        advice="pass one of the two, or the block size in both",
    ),
    Argument(
        flags=(_TOKENS,),
        algorithms=("DSPARK",),
        versions=SpecifierSet("==0.5.23"),
        given=_dspark_block_differs,
        why="it is not --speculative-dspark-block-size plus 1",
        advice="pass one of the two, or the block size and one more",
    ),
)

OVERRIDDEN = (
    Argument((_STEPS,), _BLOCK, READ, _other_than_one(_STEPS), "a block is one step", "drop it"),
    Argument((_TOPK,), _BLOCK, READ, _other_than_one(_TOPK), "a block is no tree", "drop it"),
    Argument(
        flags=(_BLOCK_SIZE,),
        algorithms=("DSPARK",),
        versions=SpecifierSet("==0.5.23"),
        given=_passes(_BLOCK_SIZE),
        why="only DFLASH reads it",
        advice="drop it, or pass --speculative-dspark-block-size",
    ),
    Argument(
        flags=("--speculative-dspark-block-size",),
        algorithms=("DFLASH",),
        versions=SpecifierSet("==0.5.23"),
        given=_passes("--speculative-dspark-block-size"),
        why="only DSPARK reads it",
        advice="drop it, or pass --speculative-dflash-block-size",
    ),
    Argument(
        flags=("--enable-mixed-chunk",),
        algorithms=_DRAFTED,
        versions=SpecifierSet(">=0.5.14,<0.5.19"),
        given=_passes("--enable-mixed-chunk"),
        why="it is switched off",
        advice="drop it",
    ),
    Argument(
        flags=("--speculative-token-map",),
        algorithms=("EAGLE3",),
        versions=READ,
        given=_passes("--speculative-token-map"),
        why="an EAGLE3 draft has its own map, d2t",
        advice="drop it",
    ),
    Argument(
        flags=(_WINDOW,),
        algorithms=("EAGLE", "NEXTN"),
        versions=SpecifierSet(">=0.5.14,<0.5.21"),
        given=_passes(_WINDOW),
        why="only DFLASH and EAGLE3 have a draft window",
        advice="drop it",
    ),
    Argument(
        flags=(_WINDOW,),
        algorithms=("DSPARK", "STANDALONE", "FROZEN_KV_MTP"),
        versions=READ,
        given=_passes(_WINDOW),
        why="this algorithm has no draft window",
        advice="drop it",
    ),
    Argument(
        flags=(_TOKENS,),
        algorithms=EAGLE,
        versions=READ,
        given=_chain_of_another_length,
        why="with a top-k of 1 it becomes the number of steps plus 1",
        advice="drop it, or write the number of steps plus 1",
    ),
    Argument(
        flags=("--enable-return-hidden-states",),
        algorithms=_BLOCK,
        versions=READ,
        given=_hidden_states_with_overlap,
        why="requests for hidden states are refused while the overlap schedule is on",
        advice="add --disable-overlap-schedule",
        lacks=True,
    ),
)


def refused_eagle_arguments(argv: Argv) -> Iterator[tuple[str, str, str]]:
    """What _handle_eagle_family stops at: the flag, why, and what to do."""
    steps, topk = number(argv, _STEPS), number(argv, _TOPK)
    if has_flag(argv, "--speculative-adaptive"):  # which fills in the rest
        return
    for flag in (_TOPK, _TOKENS):
        if steps is None and has_flag(argv, flag):
            yield flag, f"{flag} without {_STEPS} ends in an AssertionError", f"pass {_STEPS}, or neither"
    if steps is not None and topk is None:
        yield _STEPS, f"{_STEPS} without {_TOPK} ends in a TypeError", f"pass {_TOPK}"
    yield from _refused_trees(argv, topk or 1)


def _refused_trees(argv: Argv, topk: int) -> Iterator[tuple[str, str, str]]:
    """A tree of proposals (top-k above 1) runs on some attention backends only."""
    backend = flag_value(argv, "--attention-backend")
    phases = ("--prefill-attention-backend", "--decode-attention-backend")
    named = {backend, *(flag_value(argv, flag) for flag in phases)}
    if topk > 1 and "trtllm_mha" in named:
        yield _TOPK, "trtllm_mha serves a top-k of 1 only", f"write {_TOPK} 1, or take another backend"
    elif topk > 1 and (number(argv, "--page-size") or 1) > 1 and backend not in (None, *_TREE_BACKENDS):
        known = ", ".join(_TREE_BACKENDS)
        yield _TOPK, f"a top-k of {topk} with pages runs on {known} only", "write --page-size 1, or take one"
