"""The vocabulary maps of a draft with a reduced vocabulary: the only tensors that are read at header level.

``d2t`` [D] holds offsets: draft token i is target token i + d2t[i]. ``t2d`` [V] says of each target token
whether the draft has it. They take a few hundred kilobytes, and a wrong one shows nowhere: the draft proposes
other words than it was trained to propose.

    maps, reason = read_maps(checkpoint)        # (None, why) where they cannot be read
    maps.ids, maps.used

Sources: specforge 0.2.0, data/preprocessing.py (process_token_dict_to_mappings); sglang 0.5.14 and vLLM
0.33.0, models/llama_eagle3.py; speculators 0.9.0, model.py.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, TensorInfo
from zoo.printable import quoted

# d2t of 200,000 tokens takes 1.6 MB.
BYTE_LIMIT = 64 * 1024 * 1024
NAMES = ("d2t", "t2d")
_INTEGERS = {"I64": "q", "I32": "i"}
_BYTES = ("BOOL", "U8")


@dataclass(frozen=True)
class VocabularyMaps:
    """The values of the maps; a map that the files do not have is None, and its name "".

    ``offsets`` is d2t, ``flags`` the bytes of t2d, ``vocabulary`` the size of the target's, V.
    """

    offsets: tuple[int, ...] | None = None
    flags: bytes | None = None
    d2t: str = ""
    t2d: str = ""
    vocabulary: int = 0

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The target tokens that d2t stands for, in the order of the draft's."""
        return tuple(index + offset for index, offset in enumerate(self.offsets or ()))

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The target tokens that t2d says the draft has."""
        return tuple(index for index, flag in enumerate(self.flags or b"") if flag)


def is_map(name: str) -> bool:
    """Whether a tensor of this name is a vocabulary map, under any prefix."""
    return name.rpartition(".")[2] in NAMES


def read_maps(checkpoint: Checkpoint) -> tuple[VocabularyMaps | None, str]:
    """The maps of ``checkpoint``, or None and the reason. Without such tensors nothing is read, and both
    maps are absent."""
    found = vocabulary_maps(checkpoint)
    total = sum(tensor.nbytes for tensor in found.values() if tensor is not None)
    if total > BYTE_LIMIT:
        return None, f"the vocabulary maps have {total:,} bytes, more than the {BYTE_LIMIT:,} that are read"
    for kind, tensor in found.items():
        dtypes = tuple(_INTEGERS) if kind == "d2t" else _BYTES
        if tensor is not None and (tensor.dtype not in dtypes or len(tensor.shape) != 1):
            shape = "x".join(map(str, tensor.shape))
            return None, f"{quoted(tensor.name)} is {tensor.dtype} [{shape}], which is no vocabulary map"
    d2t, t2d = found["d2t"], found["t2d"]
    try:
        flags = None if t2d is None else _read(checkpoint, t2d)
        offsets = None if d2t is None else _integers(_read(checkpoint, d2t), d2t.dtype)
    except OSError as error:
        return None, f"the vocabulary maps cannot be read ({error.strerror or error})"
    vocabulary = _stated_vocabulary(checkpoint.config or {}) if flags is None else len(flags)
    if offsets is not None and vocabulary is None:
        return None, "config.json states no vocab_size, so that the vocabulary map cannot be judged"
    maps = VocabularyMaps(
        offsets,
        flags,
        d2t="" if d2t is None else d2t.name,
        t2d="" if t2d is None else t2d.name,
        vocabulary=vocabulary or 0,
    )
    return maps, ""


def vocabulary_maps(checkpoint: Checkpoint) -> dict[str, TensorInfo | None]:
    """Where the maps are: d2t and t2d, each with the tensor that :func:`read_maps` reads, or None."""
    return {kind: _shortest(checkpoint, kind) for kind in NAMES}


def _shortest(checkpoint: Checkpoint, kind: str) -> TensorInfo | None:
    """The tensor called ``kind``; of several under different prefixes, the one with the shortest name."""
    names = [name for name in checkpoint.tensors if name.rpartition(".")[2] == kind]
    return checkpoint.tensors[min(names, key=lambda name: (len(name), name))] if names else None


def _read(checkpoint: Checkpoint, tensor: TensorInfo) -> bytes:
    """The bytes of one tensor.

    Raises:
        OSError: the file cannot be read, or is shorter than it was.
    """
    with open_regular(checkpoint.root / checkpoint.file_of[tensor.name]) as file:
        file.seek(checkpoint.data_start[tensor.name])
        raw = read_up_to(file, tensor.nbytes)
    if len(raw) != tensor.nbytes:
        raise OSError("the file changed while it was read")
    return raw


def _integers(raw: bytes, dtype: str) -> tuple[int, ...]:
    numbers = array(_INTEGERS[dtype], raw)
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


def _stated_vocabulary(config: Mapping[str, Any]) -> int | None:
    """The target's vocabulary as config.json states it, in speculators' layout one level down."""
    nested = config.get("transformer_layer_config")
    for level in (config, nested if isinstance(nested, Mapping) else {}):
        if type(level.get("vocab_size")) is int and level["vocab_size"] > 0:
            return int(level["vocab_size"])
    return None
