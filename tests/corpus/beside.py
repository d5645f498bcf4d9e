"""What lies beside a draft in a case: its target, base draft, data manifests and other vocabulary maps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.corpus.families import Draft
from tests.corpus.kit import HIDDEN, WEIGHTS, bf16, draft_tensors, edit_recipe, good_draft, save

VOCABULARY = 256
TOKENS = {"<|end|>": 0, "<|pad|>": 1, "<|user|>": 2, "<|tool|>": 3, "<|mask|>": 4}
HASHES = [f"{number:064x}" for number in range(8)]


def target_config(**changes: Any) -> dict[str, Any]:
    """config.json of the target of the good draft; ``changes`` replace keys, None removes one."""
    whole = {
        "architectures": ["Qwen3ForCausalLM"],
        "num_hidden_layers": 4,
        "hidden_size": HIDDEN,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 512,
        "eos_token_id": 0,
        "pad_token_id": 1,
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


def target(folder: Path, config: Mapping[str, Any] | None = None, *, rows: int = VOCABULARY) -> Path:
    """A target beside ``folder``, for cases that say ``"target": "target"``: config, tokenizer, embedding."""
    path = folder.parent / "target"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config or target_config(), indent=2))
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, 3]}))
    (path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|end|>", "pad_token": "<|pad|>"}))
    added = [{"id": token, "content": text, "special": True} for text, token in TOKENS.items()]
    (path / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {"vocab": {}}}))
    table = np.random.default_rng(5).normal(0.0, 0.02, (rows, HIDDEN))
    save(path / WEIGHTS, {"model.embed_tokens.weight": ("BF16", (rows, HIDDEN), bf16(table))})
    return path


def base(folder: Path, *, same: Sequence[str] = (), unchanged: Sequence[str] = ()) -> None:
    """A base draft beside ``folder`` with other numbers in all tensors but ``same``; the recipe says that
    ``unchanged`` are those that training did not touch."""
    path = folder.parent / "base"
    good_draft(path)
    tensors = draft_tensors(seed=1) | {name: draft_tensors()[name] for name in same}
    save(path / WEIGHTS, tensors, {"format": "pt"})
    stated = f", unchanged_tensors: {json.dumps(list(unchanged))}" if unchanged else ""
    line = f"base: {{repo: ./base, config: identical, inventory: identical{stated}}}"
    edit_recipe(folder, "target: big", f"target: big\n{line}")


def data_manifest(folder: Path, stem: str, hashes: Sequence[str], **changes: Any) -> str:
    """A data manifest beside the recipe, which calls its data ``stem``, as its file; its file name."""
    manifest = {
        "schema": "data-manifest/1",
        "name": stem,
        "normalisation": "messages as canonical JSON",
        "conversations": list(hashes),
    }
    file = f"{stem}.data.json"
    (folder.parent / "recipes" / file).write_text(json.dumps(manifest | changes))
    return file


def training_data(folder: Path, **data: Any) -> None:
    """Write ``training.data`` of the recipe."""
    text = json.dumps({"name": "traffic", **data})
    edit_recipe(folder, "manifest: unknown", f"manifest: unknown\n  data: {text}")


def offsets_of(ids: Sequence[int]) -> bytes:
    """The data of a d2t that stands for the target's tokens ``ids``."""
    return (np.asarray(ids) - np.arange(len(ids))).astype("<i8").tobytes()


def ids_of(draft: Draft) -> list[int]:
    """The target's tokens that the draft has, by its t2d."""
    return [index for index, used in enumerate(draft.tensors["t2d"][2]) if used]


def with_map(draft: Draft, name: str, data: bytes) -> Draft:
    """``draft`` with other data in one of its maps."""
    dtype, shape, old = draft.tensors[name]
    assert len(data) == len(old)
    draft.tensors[name] = (dtype, shape, data)
    return draft
