"""Writing a trace: safetensors files that are there as a whole or not at all, and the folder of a recording.

A recording can be killed at any time. Each conversation is one shard, and a shard has its name only when all
its bytes are on disk; ``recording.json`` says what the recording is. The same command goes on where it
stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.atomic import write_atomically
from zoo.checkpoint.content import open_regular
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.checkpoint.safetensors import read_header
from zoo.checkpoint.writer import header_bytes
from zoo.drafts import TensorSpec
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.names import is_name
from zoo.replay.trace import HEAD, INDEX, SCHEMA, shard_tensors

PLAN = "recording.json"
_SHARDS = "shards"
_META = "zoo-trace"  # key of the facts about a conversation in the metadata of its shard
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """A finished file: its size in bytes, and sha256 of the whole and of each tensor."""

    size: int
    sha256: str
    tensors: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        return {"size": self.size, "sha256": self.sha256, "tensors": dict(self.tensors)}


def write_tensors(
    path: Path,
    specs: Mapping[str, TensorSpec],
    metadata: Mapping[str, str],
    data: Mapping[str, Iterable[bytes | memoryview]],
) -> Written:
    """Write a safetensors file with the tensors of ``specs`` in this order; ``data`` gives the bytes of each
    in pieces. It appears under its name when it is complete and on disk.

    Raises:
        ValueError: a tensor got another number of bytes than its spec says.
        OSError: it cannot be written; nothing is left behind.
    """
    header = header_bytes(specs, metadata)
    whole, digests, size = hashlib.sha256(header), {}, len(header)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(header)
            for name, spec in specs.items():
                digest, count = hashlib.sha256(), 0
                for piece in data[name]:
                    file.write(piece)
                    digest.update(piece)
                    whole.update(piece)
                    count += len(piece)
                if count != spec.nbytes:
                    raise ValueError(f"{name} got {count} bytes and has {spec.nbytes}")
                digests[name] = digest.hexdigest()
                size += count
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    return Written(size, whole.hexdigest(), digests)


def rehash(path: Path) -> Written | None:
    """What :func:`write_tensors` returned for the file at ``path``; None if it is not a whole one."""
    header, _ = read_header(path, path.name)
    if header is None:
        return None
    whole, digests = hashlib.sha256(), {}
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        whole.update(_exactly(file.read, header.data_start))
        for tensor in sorted(header.tensors.values(), key=lambda each: each.begin):
            digest, left = hashlib.sha256(), tensor.nbytes
            while left:
                piece = _exactly(file.read, min(left, _CHUNK))
                digest.update(piece)
                whole.update(piece)
                left -= len(piece)
            digests[tensor.name] = digest.hexdigest()
    return Written(size, whole.hexdigest(), digests)


def _exactly(read: Any, count: int) -> bytes:
    raw = b""
    while len(raw) < count and (piece := read(count - len(raw))):
        raw += piece
    if len(raw) != count:
        raise OSError("the file changed while it was read")
    return raw


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recording will hold; two runs with an equal plan are one recording.

    ``index`` are the fields of index.json that are known beforehand; ``lengths`` the tokens of each
    conversation, at most.
    """

    index: Mapping[str, Any]
    lengths: Sequence[int]

    @property
    def nbytes(self) -> int:
        """The bytes of all states, at most (headers take less than a thousandth more)."""
        index = self.index
        return sum(
            spec.nbytes
            for length in self.lengths
            for spec in shard_tensors(
                length,
                index["layers"],
                index["target"]["hidden_size"],
                index["dtype"],
                final=index["final"] == "normed",
            ).values()
        )


def check_out(out: Path) -> str:
    """The name of the trace in the folder ``out``, before anything is made.

    Raises:
        UsageError: the folder holds something else than an unfinished recording, or its name is no name.
    """
    name = out.resolve().name
    if not is_name(name):
        raise UsageError(
            f"{quoted(name)} cannot be the name of a trace",
            hint="name the folder with lower-case letters, digits, dots and dashes",
        )
    if (out / INDEX).exists():
        raise UsageError(
            f"{quoted(str(out))} holds a finished trace",
            hint="name another folder, or check this one: zoo trace --check TRACE",
        )
    if out.exists() and not (out / PLAN).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{quoted(str(out))} holds something else", hint="name a folder that does not exist")
    return name


def check_room(out: Path, nbytes: int) -> None:
    """Refuse when the disk cannot hold ``nbytes`` more beside what an unfinished recording already takes.

    Raises:
        UsageError: it cannot.
    """
    there = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) if out.is_dir() else 0
    parent = next(each for each in (out.resolve(), *out.resolve().parents) if each.exists())
    free = shutil.disk_usage(parent).free
    if nbytes - there > free:
        raise UsageError(
            f"the trace needs {nbytes - there:,} bytes, and {quoted(str(parent))} has {free:,} free",
            hint="name another disk, record fewer layers or conversations (--top N), or --dtype bfloat16",
        )


class Recording:
    """The folder of a trace while it is written. Use :func:`recording`."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self._done: dict[int, dict[str, Any]] = {}

    @property
    def head(self) -> Path:
        return self.folder / HEAD

    def finished(self, number: int) -> bool:
        """Whether the conversation ``number`` is recorded, by this run or by one before it."""
        if number in self._done:
            return True
        path = self._shard(number)
        written = rehash(path) if path.is_file() else None
        if written is None:
            return False
        facts = _facts(path)
        if facts is None:
            return False
        self._done[number] = self._entry(number, facts, written)
        return True

    def keep(
        self, number: int, facts: Mapping[str, Any], data: Mapping[str, Iterable[bytes | memoryview]]
    ) -> None:
        """Write the shard of conversation ``number``. ``facts``: name, domain, tokens, prompt_length,
        temperature, greedy, as in index.json."""
        index = self.plan.index
        specs = shard_tensors(
            facts["tokens"],
            index["layers"],
            index["target"]["hidden_size"],
            index["dtype"],
            final=index["final"] == "normed",
        )
        metadata = {_META: json.dumps(dict(facts), sort_keys=True)}
        written = write_tensors(self._shard(number), specs, metadata, data)
        self._done[number] = self._entry(number, facts, written)

    def complete(self, head: Mapping[str, Any]) -> dict[str, Any]:
        """Write the index, with ``head`` for the target's embedding and head, and return it.

        Raises:
            ValueError: the index contradicts its schema; a fault of the caller.
        """
        from zoo.schemas import validator

        index = {
            "schema": SCHEMA,
            **self.plan.index,
            "head": dict(head),
            "conversations": [self._done[number] for number in range(len(self.plan.lengths))],
        }
        for error in validator("trace-1").iter_errors(index):
            raise ValueError(f"{error.json_path}: {error.message}")
        write_atomically(self.folder / INDEX, json.dumps(index, indent=1, ensure_ascii=True).encode() + b"\n")
        (self.folder / PLAN).unlink()
        return index

    def _shard(self, number: int) -> Path:
        return self.folder / _SHARDS / f"{number:05d}.safetensors"

    def _entry(self, number: int, facts: Mapping[str, Any], written: Written) -> dict[str, Any]:
        return {**facts, "file": f"{_SHARDS}/{number:05d}.safetensors", **written.as_json()}


def _facts(path: Path) -> dict[str, Any] | None:
    """The facts that :meth:`Recording.keep` wrote into a shard."""
    header, _ = read_header(path, path.name)
    try:
        facts = decode(header.metadata[_META].encode()) if header is not None else None
    except (KeyError, MalformedJson):
        return None
    return facts if isinstance(facts, dict) else None


@contextmanager
def recording(out: Path, plan: Plan) -> Iterator[Recording]:
    """The recording in the folder ``out``, begun now or taken up again. Only one process writes it.

    Raises:
        UsageError: another process writes it, or it was begun with another plan.
        OSError: it cannot be written.
    """
    made = not out.exists()
    (out / _SHARDS).mkdir(parents=True, exist_ok=True)
    text = json.dumps(plan.index, indent=1, sort_keys=True).encode() + b"\n"
    path = out / PLAN
    if not path.exists():
        write_atomically(path, text)
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{quoted(str(out))} is being recorded by another process", hint="wait until it has finished"
            ) from None
        except OSError:  # a file system without locks
            pass
        _same_plan(out, file.read(), plan.index)
        for left in (out / _SHARDS).glob(".*.part"):
            left.unlink()
        try:
            yield Recording(out, plan)
        except BaseException:
            if made and not any((out / _SHARDS).glob("*.safetensors")):
                shutil.rmtree(out, ignore_errors=True)  # nothing was recorded yet: leave nothing behind
            raise


def _same_plan(out: Path, raw: bytes, index: Mapping[str, Any]) -> None:
    try:
        begun = decode(raw)
    except MalformedJson:
        begun = None
    if not isinstance(begun, dict):
        begun = {}
    differ = [key for key in index if begun.get(key) != json.loads(json.dumps(index[key]))]
    if differ:
        raise UsageError(
            f"{quoted(str(out))} was begun as another recording: {', '.join(differ)} differ",
            hint="run the command that began it, or name another folder",
        )
