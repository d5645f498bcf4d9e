"""The cases: finding them, reading what they expect, making them, and writing all of them with an index.

Needs numpy and nothing of ``zoo``, so that any tool can use the corpus.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

CORPUS = Path(__file__).parent
CASES = sorted(path.parent for path in CORPUS.glob("*/*/expect.json"))
INDEX_SCHEMA = "draft-corpus/1"


def expectation(case: Path) -> dict[str, Any]:
    expect: dict[str, Any] = json.loads((case / "expect.json").read_text())
    return expect


def make_of(case: Path) -> ModuleType:
    """The module ``make.py`` of a case; its ``make(folder)`` writes the checkpoint, and a zoo beside it."""
    spec = importlib.util.spec_from_file_location(f"corpus_{case.name.replace('-', '_')}", case / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(case: Path) -> dict[str, Any]:
    """What ``index.json`` says of a case; paths are relative to the folder of the index.

    ``recipe`` and ``target`` are null where the case has none.
    """
    expect, kind = expectation(case), case.parent.name
    folder = f"{kind}/{case.name}"
    target = expect.get("target")
    return {
        "case": case.name,
        "kind": kind,
        "codes": expect["codes"],
        "why": expect["why"],
        "level": "deep" if expect.get("deep") else "header",
        "checkpoint": f"{folder}/draft/{expect.get('folder', '')}".rstrip("/"),
        "recipe": f"{folder}/recipes/draft.yaml" if expect.get("recipe") else None,
        "target": f"{folder}/{target}" if target else None,
    }


def write_all(out: Path) -> int:
    """Write every case below ``out``, which must not exist yet, and ``index.json``. Returns their number.

    Raises:
        FileExistsError: ``out`` exists.
    """
    out.mkdir(parents=True)
    for case in CASES:
        make_of(case).make(out / case.parent.name / case.name / "draft")
    index = {"schema": INDEX_SCHEMA, "cases": [entry(case) for case in CASES]}
    (out / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False) + "\n")
    return len(CASES)
