"""What is known of a checkpoint after its small files and headers were read: plain frozen values.

Nothing here reads a file. ``zoo.checkpoint.folder.open_checkpoint`` makes these values and records everything
that was wrong on the way as findings, so that checks stay pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from zoo.results import Finding


class TensorInfo(NamedTuple):
    """One entry of a safetensors header. ``dtype`` as the format spells it (``BF16``), ``begin`` and ``end``
    in bytes relative to the start of the data section."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def nbytes(self) -> int:
        return self.end - self.begin


class Header(NamedTuple):
    """A parsed safetensors header. ``length`` is N, the size in bytes of the JSON text after the 8-byte
    prefix."""

    length: int
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]

    @property
    def data_start(self) -> int:
        """Offset in the file of the first data byte."""
        return 8 + self.length

    @property
    def data_nbytes(self) -> int:
        return max((tensor.end for tensor in self.tensors.values()), default=0)


class WeightsFile(NamedTuple):
    """A ``*.safetensors`` file of the folder. ``header`` is None when it could not be understood."""

    name: str
    size: int
    header: Header | None


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder.

    ``files`` maps every file below ``root`` (POSIX path, relative) to its size in bytes; ``config`` is the
    parsed ``config.json`` or None; ``weights`` are the safetensors files that an engine would load, in name
    order; ``index`` is the ``weight_map`` of ``model.safetensors.index.json`` (tensor name -> file name) or
    None; ``findings`` are the facts recorded while reading, each with its rule code.

    A remote checkpoint has an ``opener``: file name -> its bytes from the start, unbuffered and seekable.
    Whoever reads data of such a checkpoint must use it: under its ``root`` lie the small files, headers and
    vocabulary maps only, and the rest reads as zeros. ``revision`` is the commit that was read, 40 hex
    digits; ``reported_sha256``: file -> the sha256 that the hub states; ``listed`` is False where a server
    cannot list its files, so that ``files`` has only those that were asked for.
    """

    source: str
    root: Path
    files: Mapping[str, int]
    config: Mapping[str, Any] | None
    weights: tuple[WeightsFile, ...]
    index: Mapping[str, str] | None
    findings: tuple[Finding, ...]
    opener: Callable[[str], BinaryIO] | None = None
    revision: str | None = None
    reported_sha256: Mapping[str, str] = field(default_factory=dict)
    listed: bool = True

    @cached_property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """All tensors by name. A name that two shards hold is a finding of its own (the last file wins)."""
        return {
            name: tensor
            for file in self.weights
            if file.header is not None
            for name, tensor in file.header.tensors.items()
        }

    @cached_property
    def file_of(self) -> Mapping[str, str]:
        """Tensor name -> name of the weights file that holds it."""
        return {name: file.name for file in self.weights if file.header for name in file.header.tensors}

    @cached_property
    def data_start(self) -> Mapping[str, int]:
        """Tensor name -> offset of its first byte in its weights file."""
        return {
            name: file.header.data_start + tensor.begin
            for file in self.weights
            if file.header is not None
            for name, tensor in file.header.tensors.items()
        }

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """The ``__metadata__`` of all weights files together."""
        return {
            key: value for file in self.weights if file.header for key, value in file.header.metadata.items()
        }

    @cached_property
    def data_nbytes(self) -> int:
        return sum(file.header.data_nbytes for file in self.weights if file.header)
