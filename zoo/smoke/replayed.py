"""Served = replayed: what a draft should have had accepted over the very tokens that a server gave.

The target reads the served tokens once more in transformers, and the draft is asked at every anchor of the
server's walk. Both have the same tokens, so that a difference is one of the forward passes, and not of two
texts.

How SGLang counts the last step (0.5.14, srt/managers/scheduler_components/batch_result_processor.py): a
request has a verify step for each block that came back before it was finished, and the step counts all that
the target accepted in its block (``num_correct_drafts_per_req_cpu``). Only afterwards is the output cut, at
``max_new_tokens`` or after an end token (``update_finish_state`` of schedule_batch.py). A block that the
overlapped scheduler had begun for a finished request is not counted. ``zoo.replay.run`` walks the same way:
steps begin before the last token and count in full, judged by the greedy tokens that are recorded beyond the
end. For output that was drawn at a temperature these stand in for what the server drew there and threw away:
one step of each request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from zoo.drafts import HEADER_DTYPE
from zoo.errors import UnreadableError, ZooError
from zoo.printable import quoted
from zoo.replay.acceptance import Counts, pooled
from zoo.replay.conversations import MAIN, Asked
from zoo.replay.reference import Engine, NoReferenceError, family_with_reference

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.recipe.model import Recipe
    from zoo.replay.record import Settings
    from zoo.replay.run import Reading
    from zoo.replay.target import TargetFiles
    from zoo.replay.trace import Trace

_DTYPES = ("float32", "bfloat16", "float16")
# Beside the weights: states of a batch, rows of logits, and what the allocator does not give back.
_HEADROOM = 1.2
_BATCH = 8


@dataclass(frozen=True, slots=True)
class ServedTokens:
    """A request as it was served: the token ids of its prompt, and those that came back, cut as they were."""

    input_ids: tuple[int, ...]
    output_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """``requests``: the verify steps of the walk over each served request, in the order of serving; one whose
    only token is that of the prefill has none. ``agreed`` of ``tokens`` served tokens are the target's first
    choice in this pass: at temperature 0 nearly all, or the server ran another target."""

    requests: tuple[Counts, ...]
    agreed: int
    tokens: int

    @property
    def walk(self) -> Counts:
        """All steps, with their accept length (a ratio of sums) and ``by_position``."""
        return pooled(self.requests)


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """Why there is nothing to compare with, in one line."""

    reason: str


def replay_served(
    recipe: Recipe,
    draft: Checkpoint,
    target_folder: Path,
    served: Sequence[ServedTokens],
    *,
    engine: Engine | None,
    device: str,
    dtype: str,
    work: Path,
    told: Callable[[int], None] = lambda count: None,
) -> Replayed | NotReplayed:
    """Replay ``draft``, as it was served, over the tokens that it was served with.

    Args:
        target_folder: the target itself, as the server had it.
        engine: whose reading of the draft's config; None: its trainer's, which the reference engine takes.
        device: ``cpu`` or ``cuda``.
        dtype: of the server's computation: ``bfloat16``, ``float16`` or ``float32``.
        work: a folder with room for the states; nothing stays in it.
        told: gets the number of requests that were recorded, as they are.

    Never raises for what another machine, target or draft would mend; the reason then says it.
    """
    if dtype not in _DTYPES:
        raise ValueError(f"no dtype of a replay: {dtype}")
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        return NotReplayed(f"replay needs torch and transformers ({error.name} is missing)")
    try:
        reading = _reading(recipe, draft, engine)
        files = _target(recipe, target_folder)
        _check_room(files, device, getattr(torch, dtype).itemsize)
        asked = _asked(served, files, reading)
        with TemporaryDirectory(prefix="served-", dir=work) as folder:
            settings = _settings(reading, device, dtype)
            trace = _record(Path(folder) / "served", files, asked, settings, told)
            return _replay(trace, draft, reading, recipe, device, getattr(torch, dtype))
    except ZooError as error:
        return NotReplayed(error.message.removeprefix("not checked: "))
    except OSError as error:
        return NotReplayed(f"the states of the target cannot be kept: {error.strerror or error}")
    except torch.OutOfMemoryError:
        return NotReplayed("the GPU has too little memory for target and draft: is the server still there?")


def _reading(recipe: Recipe, draft: Checkpoint, engine: Engine | None) -> Reading:
    """What the engine makes of the draft's config.

    Raises:
        NoReferenceError: nobody has written a reference for it, or read this engine.
        UnreadableError: it has no config.
    """
    from zoo.recipe.config import proposals
    from zoo.replay.reference import dflash, eagle3

    if draft.config is None:
        raise UnreadableError(
            f"{quoted(draft.source)} has no config.json that can be read", hint="zoo verify"
        )
    layers = recipe.target.layers
    if family_with_reference(draft.config) == "dflash":
        return dflash.reading(draft.config, engine, target_layers=layers)
    steps = proposals(recipe)
    if steps is None:
        raise NoReferenceError("the recipe does not say how many tokens a chain of this draft proposes")
    return eagle3.reading(draft.config, engine, steps=steps, target_layers=layers)


def _target(recipe: Recipe, folder: Path) -> TargetFiles:
    """Raises ZooError where the folder is not that of the recipe's target."""
    from zoo.replay.target import target_files
    from zoo.sources import Sources

    if not folder.is_dir():
        raise UnreadableError(f"there is no folder {quoted(str(folder))} with the target", hint="name one")
    return target_files(recipe.target, Sources().open(str(folder)))


def _check_room(files: TargetFiles, device: str, itemsize: int) -> None:
    """Raises UnreadableError where target, embedding and head do not fit into the free memory."""
    weights = sum(prod(tensor.shape) for tensor in files.checkpoint.tensors.values()) * itemsize
    needed = int(_HEADROOM * (weights + files.head.nbytes))
    free = _free(device)
    if needed > free:
        raise UnreadableError(
            f"the target takes {needed / 1e9:.1f} GB of {device} memory in this dtype, and "
            f"{free / 1e9:.1f} GB are free",
            hint="replay on a larger machine",
        )


def _free(device: str) -> int:
    """Free bytes: of the GPU, or what Linux can give without swapping."""
    if device == "cuda":
        import torch

        return int(torch.cuda.mem_get_info()[0]) if torch.cuda.is_available() else 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise UnreadableError("/proc/meminfo does not say how much memory is free", hint="replay on Linux")


def _asked(served: Sequence[ServedTokens], files: TargetFiles, reading: Reading) -> tuple[Asked, ...]:
    """The requests as conversations with a given continuation.

    Raises:
        UnreadableError: one has no tokens, a token that the target does not have, or no place for the block
            after its end.
    """
    vocabulary, beyond = files.target.vocab_size, _proposals(reading)
    for number, each in enumerate(served):
        tokens = (*each.input_ids, *each.output_ids)
        problem = ""
        if not each.input_ids or not each.output_ids:
            problem = "has no prompt" if not each.input_ids else "has no output"
        elif not all(0 <= token < vocabulary for token in tokens):
            problem = f"has a token id outside the vocabulary of {vocabulary:,}"
        elif files.context is not None and len(tokens) + beyond > files.context:
            problem = f"leaves no room for a block in the context of {files.context:,}"
        if problem:
            raise UnreadableError(f"served request {number} {problem}", hint="look at what was served")
    return tuple(
        Asked(f"request-{number:04}", MAIN, tuple(each.input_ids), tuple(each.output_ids), None)
        for number, each in enumerate(served)
    )


def _proposals(reading: Reading) -> int:
    from zoo.replay.reference import dflash

    return reading.block_size - 1 if isinstance(reading, dflash.Reading) else reading.steps


def _settings(reading: Reading, device: str, dtype: str) -> Settings:
    from zoo.replay.record import Settings

    return Settings(
        layers=tuple(sorted(set(reading.aux_ids))),
        dtype=HEADER_DTYPE[dtype],
        compute_dtype=HEADER_DTYPE[dtype],
        device=device,
        beyond=_proposals(reading),
        batch=_BATCH,
    )


def _record(
    out: Path,
    files: TargetFiles,
    asked: tuple[Asked, ...],
    settings: Settings,
    told: Callable[[int], None],
) -> Trace:
    from zoo.replay.record import plan_recording, record
    from zoo.replay.writing import check_room

    plan = plan_recording(out.name, files, asked, MAIN, settings)
    check_room(out, plan.nbytes + files.head.nbytes)
    return record(out, plan, files, asked, settings, told)


def _replay(
    trace: Trace, draft: Checkpoint, reading: Reading, recipe: Recipe, device: str, dtype: object
) -> Replayed:
    import torch

    from zoo.recipe.config import proposals
    from zoo.replay.run import Draft, Recorded, run

    assert isinstance(dtype, torch.dtype)
    recorded = Recorded.of(trace, device, dtype)
    ready = Draft.of(draft, recorded, proposals(recipe))
    rows = run(ready.made(reading), recorded)
    return Replayed(
        tuple(row.walk for row in rows),
        sum(each.greedy or 0 for each in trace.conversations),
        sum(each.end - each.prompt_length for each in trace.conversations),
    )
