"""A stand-in: a checkpoint with the exact inventory and config of a recipe, and no trained weights.

With it anyone can try a whole pipeline (verify, launch, card, release) without the weights. Vocabulary maps
are valid ones: the first and the last tokens of the target, half of the draft's each. Every weights
file says in its metadata that it is a stand-in; rule D004 reads that, and ``zoo release --push`` refuses it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from zoo import __version__
from zoo.aside import built_aside
from zoo.checkpoint.writer import header_bytes
from zoo.drafts import Inventory, TensorSpec
from zoo.drafts.family import NotInventoriedError
from zoo.errors import UsageError
from zoo.recipe.config import config_of, inventory_of
from zoo.recipe.model import Recipe
from zoo.rules.deep import STANDIN_KEY

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Floats = numpy.typing.NDArray[numpy.float32]
    Bits = numpy.typing.NDArray[numpy.uint16]

# Elements that are drawn at a time: 4 MiB as float32.
_BLOCK = 1024 * 1024

# The smallest PDF that viewers open: one empty page. The offsets of its cross-reference table are exact.
_PDF = (
    b"%PDF-1.4\n"
    b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\n"
    b"xref\n0 4\n"
    b"0000000000 65535 f \n0000000009 00000 n \n0000000052 00000 n \n0000000101 00000 n \n"
    b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n164\n%%EOF\n"
)


class Fill(StrEnum):
    """What the data holds. Sparse: zeros that take no disk. Random: seeded normals of std 0.02, norms
    around 1."""

    SPARSE = "sparse"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Standin:
    """What was written: ``files`` maps name to size in bytes, ``tensors`` and ``nbytes`` are those of the
    weights."""

    folder: Path
    files: Mapping[str, int]
    tensors: int
    nbytes: int


def write_standin(
    recipe: Recipe, out: Path, fill: Fill = Fill.SPARSE, keep_out_of: Path | None = None
) -> Standin:
    """Write a stand-in for ``recipe`` into the folder ``out``, which must not exist or be empty, nor lie in
    ``keep_out_of``, the folder of the real draft.

    Raises:
        UsageError: ``out`` holds something or lies in ``keep_out_of``, or the recipe's config describes no
            draft.
        OSError: the folder cannot be made or written to; nothing is left behind.
    """
    config = config_of(recipe)
    try:
        tensors = inventory_of(recipe)
    except (KeyError, TypeError, NotInventoriedError) as error:
        raise UsageError(
            f"{recipe.file}: the config describes no draft: {error}", hint=f"run: zoo verify {recipe.name}"
        ) from error
    files = recipe.checkpoint.files
    shards = _shards(tensors, [name for name, kind in files.items() if kind == "weights"])
    mark = f"{recipe.name} {recipe.version}: right shapes, no trained weights"
    metadata = {"format": "pt", STANDIN_KEY: mark}
    maps = _maps(tensors, recipe.target.vocab_size)
    with built_aside(out, keep_out_of) as folder:
        for name, kind in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "weights":
                _write_weights(path, shards[name], metadata, maps, fill, recipe.name)
            elif name == "config.json":
                path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
            elif kind == "index":
                path.write_text(_index(shards), encoding="utf-8")
            else:
                path.write_bytes(_placeholder(name, recipe))
        sizes = {name: (folder / name).stat().st_size for name in files}
    return Standin(out, sizes, len(tensors), sum(spec.nbytes for spec in tensors.values()))


def _shards(tensors: Inventory, names: list[str]) -> dict[str, Inventory]:
    """The tensors spread over the declared weights files, in order, about the same number of bytes in
    each."""
    ends = list(accumulate(spec.nbytes for spec in tensors.values()))
    shards: dict[str, dict[str, TensorSpec]] = {name: {} for name in names}
    for (tensor, spec), end in zip(tensors.items(), ends, strict=True):
        shards[names[(end - 1) * len(names) // ends[-1]]][tensor] = spec
    return dict(shards)


def _index(shards: Mapping[str, Inventory]) -> str:
    total = sum(spec.nbytes for tensors in shards.values() for spec in tensors.values())
    weight_map = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    document = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    return json.dumps(document, indent=2) + "\n"


def _maps(tensors: Inventory, vocabulary: int) -> dict[str, bytes]:
    """The data of the vocabulary maps among ``tensors``: of D draft tokens, the first D // 2 are the target's
    first, the rest its last."""
    sizes = [spec.shape[0] for name, spec in tensors.items() if name == "d2t"]
    if not sizes or sizes[0] > vocabulary:
        return {}
    first, rest = sizes[0] // 2, sizes[0] - sizes[0] // 2
    offset = vocabulary - sizes[0]
    d2t = bytes(8 * first) + offset.to_bytes(8, "little") * rest
    t2d = b"\x01" * first + bytes(offset) + b"\x01" * rest
    return {"d2t": d2t, "t2d": t2d}


def _write_weights(
    path: Path,
    tensors: Inventory,
    metadata: Mapping[str, str],
    maps: Mapping[str, bytes],
    fill: Fill,
    seed: str,
) -> None:
    with path.open("wb") as file:
        file.write(header_bytes(tensors, metadata))
        for name, spec in tensors.items():
            if name in maps and len(maps[name]) == spec.nbytes:
                file.write(maps[name])
            elif fill is Fill.SPARSE:
                file.seek(spec.nbytes, os.SEEK_CUR)
            else:
                _write_normals(file, name, spec, seed)
        file.truncate(file.tell())  # a hole at the end is no data yet


def _write_normals(file: BinaryIO, name: str, spec: TensorSpec, seed: str) -> None:
    """Normals of std 0.02 (initializer_range of the Qwen family) around 0, or around 1 for a norm. The
    same for the same names."""
    import numpy as np

    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    mean = 1.0 if name.endswith("norm.weight") else 0.0
    for begin in range(0, spec.elements, _BLOCK):
        count = min(_BLOCK, spec.elements - begin)
        numbers = generator.standard_normal(count, dtype=np.float32) * np.float32(0.02) + np.float32(mean)
        kinds = {"F16": "<f2", "F32": "<f4"}
        data = bfloat16(numbers) if spec.dtype == "BF16" else numbers.astype(kinds[spec.dtype])
        file.write(data.tobytes())


def bfloat16(numbers: Floats) -> Bits:
    """The bits of float32 ``numbers`` as bfloat16, which numpy lacks: their upper half, rounded to nearest
    even. For finite numbers only."""
    bits = numbers.view("<u4")
    rounded: Bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return rounded


def _placeholder(name: str, recipe: Recipe) -> bytes:
    if name.endswith(".pdf"):
        return _PDF
    if name.endswith(".json"):
        return b"{}\n"
    text = f"Placeholder for {name} of {recipe.name} {recipe.version}, written by draft-zoo {__version__}.\n"
    return text.encode()
