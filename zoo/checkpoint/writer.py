"""Writing the header of a safetensors file. The data is the caller's: it may be sparse, streamed or
random."""

from __future__ import annotations

import json
from collections.abc import Mapping

from zoo.drafts import TensorSpec


def header_bytes(tensors: Mapping[str, TensorSpec], metadata: Mapping[str, str]) -> bytes:
    """The 8-byte length and the JSON header of a file that holds ``tensors`` in this order, without a hole.

    Padded with spaces to a multiple of 8, so that the data is aligned for every dtype (safetensors README,
    "Format").
    """
    entries: dict[str, object] = {"__metadata__": dict(metadata)}
    begin = 0
    for name, spec in tensors.items():
        end = begin + spec.nbytes
        entries[name] = {"dtype": spec.dtype, "shape": list(spec.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
