"""A trace from a dump that a trainer already has: no target is run.

A dump is one file per conversation, safetensors or ``torch.save`` (read with ``weights_only=True``: a file
that needs more is refused, since a pickle runs code). The layouts that are understood, by the names of their
tensors (n tokens, K layers in the order of ``--layers``, H wide; a leading dimension of 1 is ignored):

* ``input_ids`` or ``token_ids`` [n]: the tokens;
* ``aux_hidden_state`` or ``hidden_states`` [n, K * H], or ``hidden_states.ID`` [n, H] for each: the states;
* ``target_last_hidden_states``, ``last_hidden_states`` or ``final`` [n, H], or ``hidden_state`` [n, H] beside
  ``aux_hidden_state``: the normed final states;
* ``loss_mask`` [n], whose last run of ones is the continuation, or ``prompt_length`` [1].

Sources: specforge 0.2.0, algorithms/eagle3/data.py (``hidden_state``, ``aux_hidden_state``) and
algorithms/common/dflash_family_data.py (``hidden_states``, ``target_last_hidden_states``). Dumps of
speculators 0.9.0 (``hs_N.safetensors``, [n, K + 1, H]) are refused: their last column is before the final
norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo import __version__
from zoo.checkpoint.safetensors import read_header
from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted
from zoo.replay.conversations import MAIN, Asked, conversations_digest
from zoo.replay.record import argmax, raw
from zoo.replay.target import TargetFiles
from zoo.replay.trace import (
    EMBEDDING,
    FINAL,
    LM_HEAD,
    TOKENS,
    TORCH_DTYPES,
    Trace,
    open_trace,
    state_name,
    tensor_file,
)
from zoo.replay.writing import Plan, recording

if TYPE_CHECKING:
    from torch import Tensor

_SUFFIXES = (".safetensors", ".pt", ".pth", ".ckpt")
_TOKENS = ("input_ids", "token_ids")
_STATES = ("aux_hidden_state", "aux_hidden_states", "hidden_states")
_FINALS = ("target_last_hidden_states", "last_hidden_states", "last_hidden_state", FINAL)
# Even of text by somebody else a language model's first choice is right for every second or third token.
# States that are shifted by one, or of another target, are right by chance.
_LEAST_GREEDY = 0.1
# What bf16 leaves of greedy tokens; below it they are not the target's own.
_LEAST_OWN = 0.9


@dataclass(frozen=True, slots=True)
class Dumped:
    """A conversation of a dump. ``states`` [n, H] by layer; ``final`` [n, H] or None."""

    tokens: tuple[int, ...]
    prompt_length: int
    states: Mapping[int, Tensor]
    final: Tensor | None


@dataclass(frozen=True, slots=True)
class Import:
    """What to make of a dump. ``layers``: in the order of its columns; ``own_tokens``: the continuations are
    the target's own greedy ones; ``top``: the first so many files."""

    layers: tuple[int, ...]
    dtype: str = "BF16"
    device: str = "cpu"
    domain: str = MAIN
    own_tokens: bool = False
    top: int | None = None


def dump_files(paths: Iterable[Path], top: int | None = None) -> list[Path]:
    """The files of a dump, by name: ``paths`` and what lies below folders among them.

    Raises:
        UnreadableError: there are none, or a path is not there.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES and each.is_file())
        elif path.is_file():
            found.append(path)
        else:
            raise UnreadableError(
                f"{quoted(str(path))} is not there", hint="give the dump's folder or its files"
            )
    if not found:
        raise UnreadableError(
            f"no file of the dump ends in {', '.join(_SUFFIXES)}", hint="unpack .gz files first: gunzip FILE"
        )
    return found if top is None else found[:top]


def read_dump(path: Path, layers: Sequence[int], target: TargetFiles, dtype: str = "BF16") -> Dumped:
    """The conversation in one file.

    Raises:
        UnreadableError: the file is neither safetensors nor a torch file without code.
        UsageError: its tensors are not one of the layouts above.
    """
    try:
        return _dumped(_tensors(path), layers, target, dtype)
    except ValueError as error:
        raise UsageError(
            f"{printable(str(path), limit=300)}: {error}", hint="docs/trace.md says what a dump may look like"
        ) from error


def plan_import(
    name: str, target: TargetFiles, files: Sequence[Path], how: Import
) -> tuple[Plan, tuple[Asked, ...]]:
    """What the trace will be, and its conversations. Every file is opened and checked.

    Raises:
        UsageError: torch is missing, or a file is no dump, or it has no final states (``Import.own_tokens``).
        UnreadableError: a file cannot be read.
    """
    torch = _torch()
    asked, finals = [], set[bool]()
    for number, path in enumerate(files):
        dumped = read_dump(path, how.layers, target, how.dtype)
        begin = dumped.prompt_length
        finals.add(dumped.final is not None)
        temperature = 0.0 if how.own_tokens else None
        one = Asked(
            f"{number:05d}-{printable(path.stem, keep='', limit=150)}",
            how.domain,
            dumped.tokens[:begin],
            dumped.tokens[begin:],
            temperature,
        )
        asked.append(one)
        if dumped.final is None and not how.own_tokens:
            raise UsageError(
                f"{printable(str(path), limit=300)} has no final states: acceptance cannot be computed",
                hint="dump them too; or, if all continuations are the target's greedy tokens: --own-tokens",
            )
    if len(finals) > 1:
        raise UsageError(
            "some files of the dump have final states and some have none", hint="import them apart"
        )
    index = {
        "name": name,
        **target.as_index(),
        "dtype": how.dtype,
        "software": {"draft-zoo": __version__, "torch": str(torch.__version__)},
        "layers": sorted(how.layers),
        "final": "normed" if finals == {True} else "absent",
        "domain": how.domain,
        "how": {"source": "import", "conversations_sha256": conversations_digest(tuple(asked))},
    }
    return Plan(index, [len(one.prompt) + len(one.continuation or ()) for one in asked]), tuple(asked)


def import_dump(
    out: Path,
    plan: Plan,
    target: TargetFiles,
    files: Sequence[Path],
    asked: Sequence[Asked],
    how: Import,
    told: Callable[[int], None],
) -> Trace:
    """Write the trace of a dump into the folder ``out``.

    Raises:
        UsageError: the final states do not predict the tokens, so that they are not this target's.
        OSError: the folder cannot be written; what is finished stays, and the same command goes on.
    """
    torch = _torch()
    with recording(out, plan) as work, torch.inference_mode():
        head = target.head.write(work)
        names = (EMBEDDING,) if head["tied"] else (EMBEDDING, LM_HEAD)
        lm_head = tensor_file(work.folder, head, dict.fromkeys(names)).tensor(
            names[-1], how.device, torch.float32
        )
        right = total = 0
        for number, (path, one) in enumerate(zip(files, asked, strict=True)):
            if not work.finished(number):
                dumped = read_dump(path, how.layers, target, how.dtype)
                facts, data = _kept(dumped, one, lm_head, how)
                right += facts["greedy"] or 0
                total += len(one.continuation or ())
                least = _LEAST_OWN if how.own_tokens else _LEAST_GREEDY
                if facts["greedy"] is not None and right < least * total:
                    raise UsageError(
                        f"{printable(str(path), limit=300)}: by the final states only {right:,} of {total:,} "
                        "tokens are the first choice",
                        hint="they are shifted, before the final norm, or of another target"
                        + ("; or leave --own-tokens out" if how.own_tokens else ""),
                    )
                work.keep(number, facts, data)
            told(1)
        work.complete(head)
    return open_trace(out)


def _kept(
    dumped: Dumped, one: Asked, lm_head: Tensor, how: Import
) -> tuple[dict[str, Any], dict[str, list[memoryview]]]:
    """The facts and the bytes of one shard."""
    import torch

    begin = dumped.prompt_length
    tokens = torch.tensor(dumped.tokens)
    greedy = None
    if dumped.final is not None:
        best = argmax(dumped.final[begin - 1 : -1].to(how.device, torch.float32), lm_head)
        greedy = int((best.cpu() == tokens[begin:]).sum())
    facts = {
        "name": one.name,
        "domain": one.domain,
        "tokens": len(dumped.tokens),
        "prompt_length": begin,
        "end": len(dumped.tokens),
        "temperature": one.temperature,
        "greedy": greedy,
    }
    tensors = {TOKENS: tokens} | {state_name(layer): state for layer, state in dumped.states.items()}
    if dumped.final is not None:
        tensors[FINAL] = dumped.final
    return facts, {name: [raw(tensor)] for name, tensor in tensors.items()}


def _tensors(path: Path) -> Mapping[str, Tensor]:
    """The tensors of a file. Raises UnreadableError, or ValueError for a file without any."""
    shown = printable(str(path), limit=300)
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        header, findings = read_header(path, shown)
        if header is None:
            raise UnreadableError(findings[0].message, hint=findings[0].hint)
        return load_file(path)
    torch = _torch()
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (
        Exception
    ) as error:  # a damaged zip, a pickle with code, an old format: torch has no one error for them
        reason = printable(str(error).strip().split("\n")[0], limit=200)
        raise UnreadableError(
            f"{shown} is not a torch file that holds only tensors: {reason}",
            hint="convert it where it was made: safetensors.torch.save_file",
        ) from error
    if not isinstance(loaded, Mapping):
        raise ValueError("holds no dictionary of tensors")
    return {str(key): value for key, value in loaded.items() if isinstance(value, torch.Tensor)}


def _dumped(tensors: Mapping[str, Tensor], layers: Sequence[int], target: TargetFiles, dtype: str) -> Dumped:
    """The conversation that ``tensors`` describe. Raises ValueError."""
    torch = _torch()
    wide, vocabulary = target.target.hidden_size, target.target.vocab_size
    ids = _vector(_one(tensors, _TOKENS, "tokens"), "the tokens")
    if ids.is_floating_point():
        raise ValueError("the tokens are not whole numbers")
    tokens = tuple(int(token) for token in ids)
    wrong = next((token for token in tokens if not 0 <= token < vocabulary), None)
    if wrong is not None:
        raise ValueError(f"has the token {wrong}, and the vocabulary ends at {vocabulary - 1:,}")
    begin, end = _continuation(tensors, len(tokens))
    stored = getattr(torch, TORCH_DTYPES[dtype])

    def kept(state: Tensor) -> Tensor:
        return state[:end].to(stored)

    states = {layer: kept(state) for layer, state in _states(tensors, layers, len(tokens), wide)}
    finals = [name for name in _FINALS if name in tensors]
    if "aux_hidden_state" in tensors and "hidden_state" in tensors:
        finals.append("hidden_state")
    final = _matrix(tensors[finals[0]], finals[0], len(tokens), wide) if finals else None
    return Dumped(tokens[:end], begin, states, None if final is None else kept(final))


def _continuation(tensors: Mapping[str, Tensor], count: int) -> tuple[int, int]:
    """Where the continuation begins and ends: the last run of ones of the loss mask."""
    if "prompt_length" in tensors:
        begin, end = int(tensors["prompt_length"].reshape(-1)[0]), count
    elif "loss_mask" in tensors:
        mask = [bool(each) for each in _vector(tensors["loss_mask"], "loss_mask")]
        if len(mask) != count:
            raise ValueError(f"loss_mask has {len(mask):,} entries for {count:,} tokens")
        end = next((at + 1 for at in range(count - 1, -1, -1) if mask[at]), 0)
        begin = next((at + 1 for at in range(end - 1, -1, -1) if not mask[at]), 0)
    else:
        raise ValueError("has neither loss_mask nor prompt_length, so that nobody knows the continuation")
    if not 0 < begin < end:
        raise ValueError("has no continuation after a prompt")
    return begin, end


def _states(
    tensors: Mapping[str, Tensor], layers: Sequence[int], count: int, wide: int
) -> Iterator[tuple[int, Tensor]]:
    apart = {layer: f"hidden_states.{layer}" for layer in layers}
    if all(name in tensors for name in apart.values()):
        for layer, name in apart.items():
            yield layer, _matrix(tensors[name], name, count, wide)
        return
    joined = _one(tensors, _STATES, "states")
    if joined.dim() == 3 and joined.shape[0] != 1:
        raise ValueError(
            f"its states are {list(joined.shape)}, as speculators writes them: the final ones are not normed"
        )
    matrix = _matrix(joined, "the states", count, len(layers) * wide)
    for at, layer in enumerate(layers):
        yield layer, matrix[:, at * wide : (at + 1) * wide]


def _one(tensors: Mapping[str, Tensor], names: Sequence[str], what: str) -> Tensor:
    found = [name for name in names if name in tensors]
    if not found:
        raise ValueError(f"has no {what}: none of {', '.join(names)}")
    return tensors[found[0]]


def _vector(tensor: Tensor, what: str) -> Tensor:
    flat = tensor[0] if tensor.dim() == 2 and tensor.shape[0] == 1 else tensor
    if flat.dim() != 1:
        raise ValueError(f"{what} has the shape {list(tensor.shape)}, not [n] or [1, n]")
    return flat


def _matrix(tensor: Tensor, what: str, count: int, wide: int) -> Tensor:
    flat = tensor[0] if tensor.dim() == 3 and tensor.shape[0] == 1 else tensor
    if tuple(flat.shape) != (count, wide) or not flat.is_floating_point():
        raise ValueError(f"{what} has the shape {list(tensor.shape)}, not {count:,} tokens x {wide:,}")
    return flat


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise UsageError(f"an import needs torch ({error})", hint="pip install 'draft-zoo[torch]'") from error
    return torch
