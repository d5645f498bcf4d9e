"""A trace: what a target computed over some conversations, recorded once so that drafts can be run on it.

    trace = open_trace(Path("traces/tiny"))
    for conversation in trace.conversations:
        conversation.tokens                                        # int64 [n]
        conversation.states((0, 1, 2), "cpu", torch.float32)       # [n, 3, H]
        conversation.final("cpu", torch.float32) @ trace.lm_head("cpu", torch.float32).T   # logits [n, V]

On disk (docs/trace.md) it is ``index.json``, one safetensors shard per conversation and the target's
embedding and head. Opening reads the index and the headers, and both must agree; every tensor is compared
with its digest when it is first read. Only the methods that return tensors need torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.checkpoint.model import Header
from zoo.checkpoint.safetensors import read_header
from zoo.digests import canonical_json, sha256_hex
from zoo.drafts import TensorSpec
from zoo.errors import UnreadableError, UsageError, ZooError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SCHEMA = "trace/1"
INDEX, HEAD = "index.json", "target.safetensors"
EMBEDDING, LM_HEAD = "embed_tokens.weight", "lm_head.weight"
TOKENS, FINAL = "tokens", "final"
# 100,000 conversations of 10 tensors take about 100 MB.
INDEX_LIMIT = 256 * 1024 * 1024
# What the index and its readers know; a target with an FP8 head is not one of them.
TORCH_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "I64": "int64"}
_CODES = JsonCodes("", "", "")  # findings become errors here, and their codes are not shown
_CHUNK = 1 << 20


class DamagedTraceError(ZooError):
    """The files of a trace are not those that its index describes."""

    exit_status = 1

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="record the trace again, or copy it again from where it was made")


def state_name(layer: int) -> str:
    """The tensor of the states after ``layer`` in a shard."""
    return f"states.{layer}"


def shard_tensors(
    tokens: int, layers: Sequence[int], hidden_size: int, dtype: str, *, final: bool
) -> dict[str, TensorSpec]:
    """The inventory of the shard of a conversation of so many ``tokens``, in the order of the file."""
    state = TensorSpec(dtype, (tokens, hidden_size))
    shard = {TOKENS: TensorSpec("I64", (tokens,))} | {state_name(layer): state for layer in layers}
    return shard | {FINAL: state} if final else shard


@dataclass(frozen=True)
class TensorFile:
    """A file of the trace whose header agrees with the index. ``digests``: tensor -> sha256 of its bytes."""

    path: Path
    shown: str
    size: int
    sha256: str
    header: Header
    digests: Mapping[str, str]
    _verified: set[str] = field(default_factory=set, repr=False, compare=False)

    def tensor(
        self, name: str, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
    ) -> Tensor:
        """The tensor ``name``, as stored unless ``dtype`` says otherwise.

        Raises:
            DamagedTraceError: its bytes are not those of the index.
            UnreadableError: the file cannot be read.
        """
        import torch

        info = self.header.tensors[name]
        stored = getattr(torch, TORCH_DTYPES[info.dtype])
        flat = torch.frombuffer(self._read(name), dtype=stored)
        return flat.view(info.shape).to(device=device, dtype=dtype or stored)

    def _read(self, name: str) -> bytearray:
        info = self.header.tensors[name]
        raw = bytearray(info.nbytes)
        try:
            with open_regular(self.path) as file:
                file.seek(self.header.data_start + info.begin)
                view, count = memoryview(raw), 0
                while count < len(raw) and (piece := file.read(min(len(raw) - count, _CHUNK))):
                    view[count : count + len(piece)] = piece
                    count += len(piece)
        except OSError as error:
            raise UnreadableError(
                f"{self.shown} cannot be read ({error.strerror or error})", hint="check the disk"
            ) from error
        if name not in self._verified:
            if count != len(raw) or hashlib.sha256(raw).hexdigest() != self.digests[name]:
                raise DamagedTraceError(f"{self.shown}: tensor {name} is not the one that was recorded")
            self._verified.add(name)
        return raw

    def hashed(self, told: Callable[[int], None]) -> str:
        """The sha256 of the whole file; ``told`` gets the bytes of each buffer. Raises OSError."""
        digest = hashlib.sha256()
        with open_regular(self.path) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                told(len(chunk))
        return digest.hexdigest()


@dataclass(frozen=True)
class Conversation:
    """One recorded conversation of ``length`` tokens: a prompt of ``prompt_length`` and its continuation, up
    to ``end``. What is recorded beyond it goes on as the continuation does, or is greedy after one that was
    given. A server's last verify steps, which begin at anchors before ``end - 1``, look at it and so count in
    full.

    ``temperature``: with which the continuation was drawn, 0 for greedy, None where nobody knows.
    ``greedy``: how many tokens of the continuation are the argmax of the stored final states, None without
    these.
    """

    name: str
    domain: str
    length: int
    prompt_length: int
    end: int
    temperature: float | None
    greedy: int | None
    layers: tuple[int, ...]
    file: TensorFile

    @cached_property
    def tokens(self) -> Tensor:
        """int64 [n], on the CPU."""
        return self.file.tensor(TOKENS)

    def states(self, layer_ids: Sequence[int], device: str | torch.device, dtype: torch.dtype) -> Tensor:
        """[n, K, H]: the output after each of the K layers, in the order asked for (``hidden_states[id + 1]``
        of transformers; -1 is the output of the embedding).

        Raises:
            UsageError: a layer was not recorded.
        """
        import torch

        missing = sorted({layer for layer in layer_ids if layer not in self.layers})
        if missing:
            raise UsageError(
                f"the trace has no states after layer {', '.join(map(str, missing))}; it has those after "
                f"{', '.join(map(str, self.layers))}",
                hint="record it again with these: zoo trace ... --layers IDS --neighbours",
            )
        return torch.stack([self.file.tensor(state_name(layer), device, dtype) for layer in layer_ids], dim=1)

    def final(self, device: str | torch.device, dtype: torch.dtype) -> Tensor:
        """[n, H]: the normed final states; logits are ``final @ lm_head.T``.

        Raises:
            UsageError: the trace has none.
        """
        if FINAL not in self.file.header.tensors:
            raise UsageError(
                "the trace has no final states, so that only its tokens are known (temperature 0)",
                hint="record it with: zoo trace TARGET --conversations FILE --out TRACE",
            )
        return self.file.tensor(FINAL, device, dtype)


@dataclass(frozen=True)
class Trace:
    """An opened trace. ``index`` is its document (``zoo/schemas/trace-1.json``)."""

    folder: Path
    index: Mapping[str, Any]
    conversations: tuple[Conversation, ...]
    head: TensorFile

    @property
    def name(self) -> str:
        return str(self.index["name"])

    @property
    def layers(self) -> tuple[int, ...]:
        return tuple(self.index["layers"])

    @property
    def domain(self) -> str:
        """The main domain; conversations of other domains are out-of-domain sets."""
        return str(self.index["domain"])

    @property
    def has_final(self) -> bool:
        return bool(self.index["final"] == "normed")

    @cached_property
    def digest(self) -> str:
        """sha256 of the canonical index, which holds the digests of all files: the identity of the trace."""
        return sha256_hex(canonical_json(self.index))

    def embed(self, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> Tensor:
        """The target's embedding [V, H]."""
        return self.head.tensor(EMBEDDING, device, dtype)

    def lm_head(self, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> Tensor:
        """The target's head [V, H]; the embedding where they are tied."""
        return self.head.tensor(EMBEDDING if self.index["head"]["tied"] else LM_HEAD, device, dtype)


def open_trace(folder: Path) -> Trace:
    """The trace in ``folder``. Reads its index and the headers of its files, no states.

    Raises:
        UnreadableError: there is no trace, or it is not one that this version understands.
        DamagedTraceError: files are missing, or differ from the index in size or header.
    """
    index = _read_index(folder)
    target = index["target"]
    wide = target["hidden_size"]
    head = index["head"]
    expected = {EMBEDDING: None} if head["tied"] else {EMBEDDING: None, LM_HEAD: None}
    head_file = tensor_file(folder, head, expected)
    for tensor in head_file.header.tensors.values():
        if len(tensor.shape) != 2 or tensor.shape[1] != wide or tensor.shape[0] < target["vocab_size"]:
            raise DamagedTraceError(f"{head_file.shown}: {tensor.name} has the shape {list(tensor.shape)}")
        if tensor.dtype not in TORCH_DTYPES:
            raise DamagedTraceError(f"{head_file.shown}: {tensor.name} is {tensor.dtype}")
    layers = tuple(index["layers"])
    final = index["final"] == "normed"
    conversations = []
    for each in index["conversations"]:
        specs = shard_tensors(each["tokens"], layers, wide, index["dtype"], final=final)
        conversations.append(
            Conversation(
                name=each["name"],
                domain=each["domain"],
                length=each["tokens"],
                prompt_length=each["prompt_length"],
                end=each["end"],
                temperature=each["temperature"],
                greedy=each["greedy"],
                layers=layers,
                file=tensor_file(folder, each, dict(specs)),
            )
        )
    return Trace(folder, index, tuple(conversations), head_file)


def check_trace(trace: Trace, told: Callable[[int], None] | None = None) -> int:
    """Compare every byte of the trace with its index, and return how many were read.

    Raises:
        DamagedTraceError: files differ; the message names them.
        UnreadableError: a file cannot be read.
    """
    damaged, total = [], 0
    for file in (trace.head, *(each.file for each in trace.conversations)):
        try:
            if file.hashed(told or _silent) != file.sha256:
                damaged.append(file.shown)
        except OSError as error:
            raise UnreadableError(
                f"{file.shown} cannot be read ({error.strerror or error})", hint="check the disk"
            ) from error
        total += file.size
    if damaged:
        named = ", ".join(damaged[:5]) + (", ..." if len(damaged) > 5 else "")
        raise DamagedTraceError(f"{len(damaged)} of {len(trace.conversations) + 1} files differ: {named}")
    return total


def _silent(count: int) -> None:
    """Nobody looks at the progress."""


def _read_index(folder: Path) -> dict[str, Any]:
    from zoo.schemas import validator

    path = folder / INDEX
    shown = printable(str(path))
    if not path.is_file():
        unfinished = (folder / "recording.json").is_file()
        hint = "run the command that began it again, and it goes on" if unfinished else "check the folder"
        state = "is a recording that was not finished" if unfinished else f"holds no trace: no {INDEX}"
        raise UnreadableError(f"{quoted(str(folder))} {state}", hint=hint)
    index, findings = read_json(path, shown, _CODES, size_limit=INDEX_LIMIT)
    problems = [finding.message for finding in findings]
    if index is not None and not problems:
        errors = sorted(validator("trace-1").iter_errors(index), key=lambda error: error.json_path)
        said = [f"{printable(e.json_path, limit=100)}: {printable(e.message, limit=200)}" for e in errors]
        problems = [f"{shown}: {problem}" for problem in said or _impossible(index)]
    if index is None or problems:
        raise UnreadableError(problems[0], hint="record the trace again with this version of zoo")
    return index


def _impossible(index: Mapping[str, Any]) -> Iterator[str]:
    """What contradicts itself in an index that follows the schema."""
    layers, entries = index["layers"], index["conversations"]
    if layers != sorted(layers) or layers[-1] >= index["target"]["layers"]:
        yield f"layers {layers} are not ids in rising order below {index['target']['layers']}"
    for key in ("name", "file"):
        if len({each[key] for each in entries}) != len(entries):
            yield f"two conversations have one {key}"
    if index["domain"] not in {each["domain"] for each in entries}:
        yield f"no conversation is of the main domain {quoted(index['domain'])}"
    for each in entries:
        continuation = each["end"] - each["prompt_length"]
        if continuation < 1 or each["end"] > each["tokens"]:
            yield f"conversation {quoted(each['name'])} has no continuation within its tokens"
        elif (each["greedy"] is None) != (index["final"] == "absent") or (each["greedy"] or 0) > continuation:
            yield f"conversation {quoted(each['name'])}: greedy is {each['greedy']} of {continuation}"
        elif index["final"] == "absent" and each["temperature"] != 0:
            yield f"conversation {quoted(each['name'])} has neither final states nor greedy tokens"


def tensor_file(
    folder: Path, entry: Mapping[str, Any], expected: Mapping[str, TensorSpec | None]
) -> TensorFile:
    """The file of an index entry, if size and header are as ``expected`` (None: any dtype and shape)."""
    path = folder / entry["file"]
    shown = printable(str(path))
    try:
        size = path.stat().st_size
    except OSError:
        raise DamagedTraceError(f"{shown} is missing") from None
    if size != entry["size"]:
        raise DamagedTraceError(f"{shown} has {size:,} bytes, not {entry['size']:,}")
    header, findings = read_header(path, shown)
    if header is None:
        raise DamagedTraceError(f"{shown}: {findings[0].message}")
    if not header.tensors.keys() == expected.keys() == entry["tensors"].keys():
        raise DamagedTraceError(f"{shown} does not hold the tensors {', '.join(expected)}")
    for name, spec in expected.items():
        tensor = header.tensors[name]
        if spec is not None and (tensor.dtype, tensor.shape) != (spec.dtype, spec.shape):
            found = f"{tensor.dtype} {list(tensor.shape)}"
            raise DamagedTraceError(f"{shown}: {name} is {found}, not {spec.dtype} {list(spec.shape)}")
    return TensorFile(path, shown, size, entry["sha256"], header, entry["tensors"])
