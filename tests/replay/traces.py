"""Small traces for tests, made of random bytes: no target and no torch."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from zoo.drafts import TensorSpec
from zoo.replay.trace import EMBEDDING, LM_HEAD, shard_tensors
from zoo.replay.writing import Plan, Recording, recording, write_tensors

HIDDEN, VOCABULARY, LAYERS = 4, 8, (0, 2)
LENGTHS = (5, 3)


def fields(name: str = "small") -> dict[str, Any]:
    """The fields of index.json that are known before a recording."""
    return {
        "name": name,
        "target": {
            "name": "small",
            "repo": "owner/small",
            "revision": "unknown",
            "layers": 3,
            "hidden_size": HIDDEN,
            "vocab_size": VOCABULARY,
            "config_sha256": "0" * 64,
        },
        "tokenizer_sha256": "unknown",
        "dtype": "BF16",
        "software": {"draft-zoo": "0"},
        "layers": list(LAYERS),
        "final": "normed",
        "domain": "main",
        "how": {"source": "transformers", "conversations_sha256": "0" * 64},
    }


def plan(**changed: Any) -> Plan:
    return Plan({**fields(), **changed}, LENGTHS)


def noise(spec: TensorSpec, seed: int) -> list[bytes]:
    return [random.Random(seed).randbytes(spec.nbytes)]


def keep(work: Recording, number: int) -> None:
    """Record the conversation ``number``."""
    length = LENGTHS[number]
    specs = shard_tensors(length, LAYERS, HIDDEN, "BF16", final=True)
    facts = {
        "name": f"c{number}",
        "domain": "main",
        "tokens": length,
        "prompt_length": 2,
        "end": length,
        "temperature": 0,
        "greedy": 1,
    }
    work.keep(number, facts, {name: noise(spec, number) for name, spec in specs.items()})


def head(work: Recording) -> dict[str, Any]:
    """Write the embedding and the head."""
    specs = dict.fromkeys((EMBEDDING, LM_HEAD), TensorSpec("BF16", (VOCABULARY, HIDDEN)))
    written = write_tensors(work.head, specs, {}, {name: noise(spec, 9) for name, spec in specs.items()})
    return {"file": work.head.name, "tied": False, **written.as_json()}


def write_trace(folder: Path) -> Path:
    """A whole trace."""
    with recording(folder, plan()) as work:
        for number in range(len(LENGTHS)):
            keep(work, number)
        work.complete(head(work))
    return folder
