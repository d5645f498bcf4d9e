"""The record of a replay: ``replay-TRACE.json``, bound to the draft's bytes, the recipe and the trace."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from zoo import __version__
from zoo.checkpoint.model import Checkpoint
from zoo.digests import FileDigest, basis_digest, engine_digest, sha256_file
from zoo.errors import UsageError
from zoo.evidence import Engine, Evidence, Result
from zoo.printable import printable, quoted
from zoo.recipe.model import Recipe
from zoo.replay.run import Recorded
from zoo.replay.settings import ReplaySettings
from zoo.replay.trace import Trace


def refuse_another_target(recipe: Recipe, trace: Trace) -> None:
    """Raises UsageError where the trace is of another target than the recipe's, or of another revision."""
    target, stated = trace.index["target"], recipe.target.data
    for key in ("repo", "revision", "layers", "hidden_size", "vocab_size"):
        if target[key] != stated[key]:
            raise UsageError(
                f"trace {printable(trace.name)} is of a target with {key} {quoted(str(target[key]))}, and "
                f"{recipe.target.file} states {quoted(str(stated[key]))}",
                hint=f"record one: zoo trace {recipe.target.name} --conversations FILE --out TRACE",
            )


def record(
    recipe: Recipe,
    checkpoint: Checkpoint,
    recorded: Recorded,
    settings: ReplaySettings,
    results: Sequence[Result],
    argv: tuple[str, ...],
    started: str,
    top: int | None = None,
) -> Evidence:
    """The evidence of these results.

    Raises:
        UsageError: the folder lacks a file that the recipe declares, so that its digest says nothing.
    """
    import torch

    missing = sorted(set(recipe.checkpoint.files) - set(checkpoint.files))
    if missing:
        raise UsageError(
            f"{quoted(checkpoint.source)} lacks {', '.join(map(quoted, missing))}, which the recipe declares",
            hint=f"run: zoo verify {recipe.name}",
        )
    files = [
        FileDigest(name, checkpoint.files[name], sha256_file(checkpoint.root / name))
        for name in recipe.checkpoint.files
    ]
    digest, trace = engine_digest(recipe, files), recorded.trace
    inputs = {
        "sha256": trace.digest,
        "about": f"trace {trace.name}",
        "count": len(recorded.conversations),
    }
    stated = settings.as_json() | {"dtype": str(recorded.dtype).removeprefix("torch.")}
    stated |= {} if top is None else {"top": top}
    cuda = recorded.device.startswith("cuda")
    return Evidence(
        kind="replay",
        subject=trace.name,
        checkpoint_digest=digest,
        basis_digest=basis_digest(recipe, inputs, digest, stated),
        target={key: trace.index["target"][key] for key in ("repo", "revision")},
        inputs=inputs,
        settings=stated,
        engine=Engine("reference", torch.__version__, argv),
        host={"gpus": [torch.cuda.get_device_name()] if cuda else [], "cpu": platform.machine()},
        tool=f"draft-zoo {__version__}",
        started=started,
        ended=now(),
        results=tuple(results),
    )


def now() -> str:
    """The time in the form of a record."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
