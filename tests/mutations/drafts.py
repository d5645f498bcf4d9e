"""The drafts that are mutated: a tiny one of every family, and variants that differ in tensors or keys.

A draft here is a config and a table of tensors without data: the files are sparse. Only the maps between the
vocabularies, which are checked with the header, have values. Each draft is complete and has no finding about
its files with its own recipe (the judge asserts it).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests import tiny_drafts
from tests.corpus.kit import header_bytes
from tests.public_configs import Config

# Tensor name -> dtype as the format spells it, shape. In the order of the file.
Table = dict[str, tuple[str, tuple[int, ...]]]
WEIGHTS = "model.safetensors"
SECOND = "more.safetensors"
_BITS = {"F4": 4, "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "I16": 16, "F16": 16, "BF16": 16}
_BITS |= {"I32": 32, "F32": 32, "I64": 64, "F64": 64}
DTYPES = tuple(name for name in _BITS if name != "F4")


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft folder. ``second`` are the tensors of a second weights file, which no recipe here declares.
    ``whole``: the draft has the target's whole vocabulary, or else every second token of it."""

    config: Config
    tensors: Table
    second: Table = field(default_factory=dict)
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Variant:
    """A draft to start from, and its family."""

    name: str
    family: str
    draft: Draft

    @property
    def own(self) -> str:
        """The block of config.json with the draft's own keys."""
        return "eagle_config" if self.family in ("eagle3", "peagle") else "dflash_config"


def size_of(tensors: Table) -> int:
    """Bytes of data."""
    total = 0
    for dtype, shape in tensors.values():
        elements = 1
        for dimension in shape:
            elements *= dimension
        total += elements * _BITS[dtype] // 8
    return total


def write(folder: Path, draft: Draft) -> None:
    """``config.json`` and one or two weights files, valid whatever the tensors are called; what is not a map
    is a hole in the file. A second file that another draft left there is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(draft.config))
    (folder / SECOND).unlink(missing_ok=True)
    _write_weights(folder / WEIGHTS, draft.tensors, draft.whole)
    if draft.second:
        _write_weights(folder / SECOND, draft.second, draft.whole)


def _write_weights(path: Path, tensors: Table, whole: bool) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        begin, end = end, end + size_of({name: (dtype, shape)})
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    raw = header_bytes(header)
    with path.open("wb") as file:
        file.write(raw)
        file.truncate(len(raw) + end)
        for name, (dtype, _) in tensors.items():
            begin, end = header[name]["data_offsets"]
            if dtype == "I64" and not whole:  # d2t: the draft's token i is the target's 2 i
                file.seek(len(raw) + begin)
                file.write(np.arange((end - begin) // 8, dtype="<i8").tobytes())
            elif dtype == "BOOL":
                file.seek(len(raw) + begin)
                file.write(b"\1" * (end - begin) if whole else (b"\1\0" * (end - begin))[: end - begin])


def _variant(
    name: str,
    family: str,
    top: Config | None = None,
    own: Config | None = None,
    drop: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    spelled: Callable[[str], str] = str,
) -> Variant:
    """The tiny draft of ``family`` with other keys (at the top, in the own block, or none) and the tensors
    that follow: ``optional`` ones besides, their names as ``spelled``."""
    config = {
        key: value for key, value in copy.deepcopy(tiny_drafts.CONFIGS[family]).items() if key not in drop
    }
    config |= top or {}
    block = "eagle_config" if family in ("eagle3", "peagle") else "dflash_config"
    config[block] = {**config[block], **(own or {})}
    specs = dict(tiny_drafts.inventory(family, config))
    besides = tiny_drafts.family_named(family).optional(config, "bfloat16")
    specs |= {key: besides[key] for key in optional}
    table = {spelled(key): (spec.dtype, spec.shape) for key, spec in sorted(specs.items())}
    whole = config.get("draft_vocab_size") in (None, config["vocab_size"])
    return Variant(name, family, Draft(config, table, whole=whole))


_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "beta_fast": 32.0}
_YARN |= {"beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
_SLIDING = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 32}

VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        *(_variant(family, family) for family in tiny_drafts.CONFIGS),
        _variant("dflash, biases", "dflash", {"attention_bias": True}),
        _variant("dflash, sliding", "dflash", _SLIDING | {"use_sliding_window": True}),
        _variant("dflash, yarn", "dflash", {"rope_scaling": _YARN}),
        _variant(
            "dflash, rope_parameters",
            "dflash",
            {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
            drop=("rope_theta",),
        ),
        _variant("dspark, gated", "dspark", own={"markov_head_type": "gated"}),
        _variant("dspark, rnn", "dspark", own={"markov_head_type": "rnn"}),
        _variant("dspark, no confidence", "dspark", own={"enable_confidence_head": False}),
        _variant("eagle3, whole vocabulary", "eagle3", {"draft_vocab_size": 256}, optional=("d2t", "t2d")),
        _variant("eagle3, embedding", "eagle3", optional=("embed_tokens.weight",)),
        _variant("eagle3, layers.0", "eagle3", spelled=lambda name: name.replace("midlayer.", "layers.0.")),
        _variant("eagle3.1, fc_norm", "eagle3", {"fc_norm": True, "norm_output": True}),
        _variant("eagle3, target hidden", "eagle3", {"target_hidden_size": 48}),
        _variant("eagle3, yarn", "eagle3", {"rope_scaling": _YARN}),
    )
}
