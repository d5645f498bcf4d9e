"""The launch command of a draft: one pure function, three users (``zoo launch``, the card, the smoke test).

A profile says the arguments in the order in which they are published; this module only puts the two models
in and pins their revisions. The result is an argv list, never a shell string: ``shell`` formats one for
people.

vLLM takes the draft in a JSON object, ``--speculative-config``. A profile writes it out, or writes
``{speculative_config}`` for one that follows from the recipe (:func:`zoo.engines.vllm.speculation`).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from zoo.engines.vllm import SPECULATIVE_CONFIG
from zoo.recipe.model import ModelRef, Profile

# The words that name each model, and the flag that pins its revision (SGLang 0.5.14 and 0.5.23,
# server_args.py; vLLM 0.33.0, engine/arg_utils.py, where the draft's revision belongs into the JSON).
_REVISION_FLAGS = {
    "--model-path": "--revision",
    "--speculative-draft-model-path": "--speculative-draft-model-revision",
    "--model": "--revision",
    "{target}": "--revision",  # vllm serve MODEL
}
_BUILT = "{speculative_config}"


class Argument(NamedTuple):
    """One word after the program, and the index of the profile's argument that says it."""

    text: str
    entry: int


def launch_argv(
    profile: Profile,
    *,
    target: ModelRef,
    draft: ModelRef,
    host: str | None = None,
    port: int | None = None,
    extra: Sequence[str] = (),
    speculation: Mapping[str, Any] | None = None,
) -> list[str]:
    """The argv that serves ``target`` with ``draft`` as ``profile`` says.

    A revision flag follows its model's path when the model is pinned; ``host``, ``port`` and ``extra`` come
    last. ``speculation`` is what ``{speculative_config}`` stands for, but for the draft's path and revision.
    """
    argv = shlex.split(profile.command)
    argv += [each.text for each in arguments(profile, target=target, draft=draft, speculation=speculation)]
    if host is not None:
        argv += ["--host", host]
    if port is not None:
        argv += ["--port", str(port)]
    return [*argv, *extra]


def arguments(
    profile: Profile, *, target: ModelRef, draft: ModelRef, speculation: Mapping[str, Any] | None = None
) -> Iterator[Argument]:
    """The words of :func:`launch_argv` after the program, each with the line of the profile that says it."""
    for entry, line in enumerate(profile.args):
        tokens = _split(line)
        for index, token in enumerate(tokens):
            if token == _BUILT and speculation is not None:
                whole = json.dumps({"model": draft.path, **speculation})
                yield Argument(_pinned(whole, draft), entry)
                continue
            filled = token.replace("{target}", target.path).replace("{draft}", draft.path)
            if "{draft}" in token and index and tokens[index - 1] in SPECULATIVE_CONFIG:
                filled = _pinned(filled, draft)
            yield Argument(filled, entry)
        model = target if "{target}" in line else draft if "{draft}" in line else None
        pin = _REVISION_FLAGS.get(tokens[0]) if tokens else None
        if model is not None and model.revision and pin:
            yield Argument(pin, entry)
            yield Argument(model.revision, entry)


@lru_cache(maxsize=1024)
def _split(line: str) -> tuple[str, ...]:
    """The words of a line. Some twenty rules ask for the command of each profile, and shlex is slow."""
    return tuple(shlex.split(line))


def _pinned(config: str, draft: ModelRef) -> str:
    """A --speculative-config with the draft's revision, where there is one and the text is a JSON object."""
    if not draft.revision:
        return config
    try:
        whole = json.loads(config)
    except ValueError:
        return config
    return json.dumps({**whole, "revision": draft.revision}) if isinstance(whole, dict) else config


def shell(argv: Sequence[str]) -> str:
    """``argv`` as one shell command, a flag and its value per line."""
    lines: list[str] = []
    for token in argv:
        if token.startswith("--") or not lines:
            lines.append(shlex.quote(token))
        else:
            lines[-1] += " " + shlex.quote(token)
    return " \\\n  ".join(lines)
