"""A launch command as its engine takes it: what surrounds argparse, and then :mod:`zoo.engines.parsing`.

``sglang serve`` takes ``--model-type`` out before argparse sees the rest (cli/serve.py of 0.5.14 and
0.5.23), and 0.5.23 also a model as the first word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from packaging.version import Version

from zoo.engines.options import Snapshot, snapshot
from zoo.engines.parsing import Parsed, Problem, parse

_TAKES_A_MODEL_FIRST = Version("0.5.23")


@lru_cache(maxsize=256)
def judge(engine: str, version: str, program: tuple[str, ...], arguments: tuple[str, ...]) -> Parsed | None:
    """What the engine's argparse says of ``arguments``, which follow ``program``; indices count from the
    first argument. None where no snapshot of this version ships."""
    known = snapshot(engine, version)
    if known is None:
        return None
    try:
        return _judge(known, program, arguments)
    except RecursionError:
        hint = "no engine can read that either"
        return Parsed((), (Problem("extra", -1, "an argument is nested too deeply", hint),))


def _judge(known: Snapshot, program: tuple[str, ...], arguments: tuple[str, ...]) -> Parsed:
    serve = bool(program) and program[-1] == "serve"
    if known.engine != "sglang" or not serve:
        parsed = parse(known, arguments, subcommand=serve)
        return _model_as_a_flag(parsed, arguments) if known.engine == "vllm" and serve else parsed
    words = _sglang_serve(arguments, Version(known.version))
    parsed = parse(known, [text for text, _ in words])
    origin = [index for _, index in words]
    return Parsed(
        tuple(replace(each, index=origin[each.index]) for each in parsed.given),
        tuple(
            each if each.index < 0 else replace(each, index=origin[each.index]) for each in parsed.problems
        ),
    )


def expanded(
    engine: str, version: str, program: Sequence[str], arguments: Sequence[str]
) -> list[tuple[str, int]]:
    """``arguments`` with every flag under its full, usual name (``--tp 8`` becomes ``--tp-size 8``), each
    with its index. What the engine does not know stays as it is; so does everything of an unknown version.
    """
    parsed = judge(engine, version, tuple(program), tuple(arguments))
    if parsed is None:
        return [(text, index) for index, text in enumerate(arguments)]
    found: list[tuple[str, int]] = []
    for each in parsed.given:
        usual = "--" + each.option.dest.replace("_", "-")
        plain = each.option.kind == "toggle" or usual not in each.option.names
        name = () if each.option.positional else (each.name if plain else usual,)
        found += [(text, each.index) for text in (*name, *(each.values if each.option.takes_value else ()))]
    known = {index for _, index in found}
    refused = {each.index for each in parsed.problems if each.index >= 0 and each.refused}
    return found + [(arguments[index], index) for index in sorted(refused - known)]


def _model_as_a_flag(parsed: Parsed, arguments: Sequence[str]) -> Parsed:
    """vLLM 0.33.0 takes --model after ``vllm serve`` with the warning that a version to come will not."""
    for index, text in enumerate(arguments):
        if text.partition("=")[0] == "--model":
            message = "--model is deprecated after vllm serve"
            told = Problem("deprecated", index, message, "write the model first: vllm serve MODEL", "--model")
            return replace(parsed, problems=(*parsed.problems, told))
    return parsed


def _sglang_serve(arguments: Sequence[str], version: Version) -> list[tuple[str, int]]:
    """What ``sglang serve`` passes on to argparse, with the index of each word."""
    kept: list[tuple[str, int]] = []
    skip = False
    for index, text in enumerate(arguments):
        if skip:
            skip = False
        elif text == "--model-type":
            skip = True
        elif not text.startswith("--model-type="):
            kept.append((text, index))
    if version >= _TAKES_A_MODEL_FIRST and kept and not kept[0][0].startswith("-"):
        return [("--model-path", kept[0][1]), *kept]
    return kept
