"""The command line: the flags of SGLang that mean something here, and what becomes of the others."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.engines.readings import parse_engine
from zoo.errors import UsageError
from zoo.replay.reference import Engine
from zoo.smoke.reference import say

_DTYPES = ("auto", "float32", "float", "bfloat16", "float16", "half")


@dataclass(frozen=True, slots=True)
class Options:
    """``block_size``: tokens per block, the anchor included; None leaves it to the draft's config.
    ``reading`` is the engine version whose reading of that config is run. ``context_length`` None: the
    target's own."""

    model: Path
    draft: Path | None
    block_size: int | None
    host: str
    port: int
    dtype: str
    seed: int
    context_length: int | None
    tokenizer: bool
    name: str
    reading: Engine
    threads: int


def parse(argv: Sequence[str], known: Callable[[Engine, str], bool]) -> Options:
    """The options of a command line.

    ``known`` says whether a name is a flag of the engine that is read like: such a flag is ignored with a
    line in the log, any other ends the program with exit status 2, as argparse does.
    """
    parser = _parser()
    given, rest = parser.parse_known_args(argv)
    try:
        reading = parse_engine(given.reading)
    except UsageError as error:
        parser.error(f"--reading: {error.message}")
    _ignore(parser, rest, lambda name: known(reading, name))
    drafted = given.speculative_algorithm is not None
    if drafted and given.speculative_draft_model_path is None:
        parser.error("DFLASH speculative decoding requires setting --speculative-draft-model-path.")
    if not drafted and given.speculative_draft_model_path is not None:
        say("no --speculative-algorithm: the draft is not loaded, the target runs alone")
    sizes = {given.speculative_num_draft_tokens, given.speculative_dflash_block_size} - {None}
    if len(sizes) > 1 or any(size < 2 for size in sizes):
        parser.error(
            "--speculative-num-draft-tokens and --speculative-dflash-block-size are one number, 2 or more"
        )
    return Options(
        model=given.model_path,
        draft=given.speculative_draft_model_path if drafted else None,
        block_size=sizes.pop() if sizes else None,
        host=given.host,
        port=given.port,
        dtype=given.dtype,
        seed=given.random_seed,
        context_length=given.context_length,
        tokenizer=not given.skip_tokenizer_init,
        name=given.served_model_name or str(given.model_path),
        reading=reading,
        threads=int(os.environ.get("OMP_NUM_THREADS") or 1),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m zoo.smoke.reference",
        description="The reference engine of zoo: serves a target, with or without a DFlash draft, on a CPU.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--model-path", "--model", type=Path, required=True, help="folder of the target")
    add("--speculative-algorithm", type=_algorithm, help="DFLASH; left out: the target alone")
    add("--speculative-draft-model-path", "--speculative-draft-model", type=Path, help="folder of the draft")
    add("--speculative-num-draft-tokens", type=int, help="tokens per block; left out: the draft's config")
    add("--speculative-dflash-block-size", type=int, help="the same number under its other name")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=30000)
    add("--dtype", choices=_DTYPES, default="float32", help="auto: as the target's config says")
    add("--random-seed", type=int, default=1)
    add("--context-length", type=int, help="left out: what the target's config says")
    add("--skip-tokenizer-init", action="store_true", help="token ids only, no text")
    add("--served-model-name", help="the name in answers of /v1/chat/completions")
    add(
        "--reading",
        default="sglang==0.5.14",
        help="whose reading of the draft's config is run: ENGINE==VERSION",
    )
    return parser


def _algorithm(text: str) -> str:
    if text.upper() != "DFLASH":
        raise argparse.ArgumentTypeError(f"{text}: the reference engine runs DFLASH drafts only")
    return "DFLASH"


def _ignore(parser: argparse.ArgumentParser, rest: Sequence[str], known: Callable[[str], bool]) -> None:
    """A line for each flag in ``rest``, with its values, that is ``known`` and means nothing here."""
    groups: list[list[str]] = []
    for token in rest:
        if token.startswith("--"):
            groups.append([token])
        elif groups:
            groups[-1].append(token)
        else:
            parser.error(f"unrecognized arguments: {token}")
    unknown = [group[0] for group in groups if not known(group[0].partition("=")[0])]
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    for group in groups:
        say(f"ignored, it means nothing here: {' '.join(group)}")
