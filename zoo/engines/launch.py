"""The launch command of a draft: one pure function, three users (``zoo launch``, the card, the smoke test).

A profile says the arguments in the order in which they are published; this module only puts the two models
in and pins their revisions. The result is an argv list, never a shell string: ``shell`` formats one for
people.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from zoo.recipe.model import ModelRef, Profile

# The flag that names each model, and the flag that pins its revision (SGLang 0.5.14 and 0.5.23,
# server_args.py).
_REVISION_FLAGS = {
    "--model-path": "--revision",
    "--speculative-draft-model-path": "--speculative-draft-model-revision",
}


def launch_argv(
    profile: Profile,
    *,
    target: ModelRef,
    draft: ModelRef,
    host: str | None = None,
    port: int | None = None,
    extra: Sequence[str] = (),
) -> list[str]:
    """The argv that serves ``target`` with ``draft`` as ``profile`` says.

    A revision flag follows its model's path when the model is pinned; ``host``, ``port`` and ``extra`` come
    last.
    """
    argv = shlex.split(profile.command)
    for line in profile.args:
        tokens = shlex.split(line)
        argv += [token.replace("{target}", target.path).replace("{draft}", draft.path) for token in tokens]
        model = target if "{target}" in line else draft if "{draft}" in line else None
        pin = _REVISION_FLAGS.get(tokens[0])
        if model is not None and model.revision and pin:
            argv += [pin, model.revision]
    if host is not None:
        argv += ["--host", host]
    if port is not None:
        argv += ["--port", str(port)]
    return [*argv, *extra]


def shell(argv: Sequence[str]) -> str:
    """``argv`` as one shell command, a flag and its value per line."""
    lines: list[str] = []
    for token in argv:
        if token.startswith("--") or not lines:
            lines.append(shlex.quote(token))
        else:
            lines[-1] += " " + shlex.quote(token)
    return " \\\n  ".join(lines)
