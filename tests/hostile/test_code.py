"""Code in a checkpoint folder: found by a named rule, whatever it is called, and never run or unpickled."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.hostile.kit import MARKER, Judged, judge, recipe_of


class Payload:
    """Whoever unpickles it makes the file that no test may leave."""

    def __reduce__(self) -> Any:
        return exec, (f"import pathlib; pathlib.Path({str(MARKER)!r}).touch()",)


def archive(*members: str) -> bytes:
    """As torch.save, TorchScript and Keras write it: a zip with a pickle or code in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in members:
            opened.writestr(name, PICKLE)
    return file.getvalue()


PICKLE = pickle.dumps(Payload())
OLD_PICKLE = pickle.dumps(Payload(), 0)
SCRIPT = f"import os\nos.system('touch {MARKER}')\n".encode()
TORCH = archive("archive/data.pkl", "archive/version")
TORCHSCRIPT = archive("model/code/__torch__.py", "model/data.pkl")
# A file of the checkpoint, its content, and the codes of the draft.
FILES: dict[str, tuple[bytes, set[str]]] = {
    "pytorch_model.bin": (PICKLE, {"F003", "X006"}),
    "model.pt": (TORCH, {"F003", "X006"}),
    "optimizer.pkl": (PICKLE, {"F003", "X006"}),
    "scaler.joblib": (PICKLE, {"F003", "X006"}),
    "old.pickle": (OLD_PICKLE, {"F003"}),
    "model.keras": (archive("config.json"), {"F003", "X006"}),
    "scripted.torchscript": (TORCHSCRIPT, {"X006"}),
    "model.h5": (b"\x89HDF\r\n\x1a\n", {"F003"}),
    "model.gguf": (b"GGUF\3\0\0\0", {"F003"}),
    "notes.dat": (PICKLE, {"X006"}),
    "figures.zip": (TORCH, {"X006"}),
    "modeling_dflash.py": (SCRIPT, {"X006"}),
    "below/conftest.PY": (SCRIPT, {"X006"}),
    "kernel.so": (b"\x7fELF" + b"\0" * 60, {"X006"}),
    "kernel": (b"\x7fELF" + b"\0" * 60, {"X006"}),
    "demo.ipynb": (b"{}", {"X006"}),
    "model.safetensors": (PICKLE, {"F012"}),
    "config.json": (PICKLE, {"C002"}),
}
# What model.safetensors really is.
WEIGHTS: dict[str, tuple[bytes, set[str]]] = {
    "zip": (TORCH, {"F012"}),
    "old-pickle": (OLD_PICKLE, {"F018"}),
    "script": (SCRIPT, {"F018"}),
    "gguf": (b"GGUF\3\0\0\0" + b"\0" * 60, {"F013"}),
    "page": (b"<!DOCTYPE html><script>", {"F011"}),
    "gzip": (b"\x1f\x8b\x08" + b"\0" * 60, {"F015"}),
    "program": (b"\x7fELF" + b"\x7f" * 60, {"F104"}),
}
CONFIGS: dict[str, dict[str, Any]] = {
    "auto-map": {"auto_map": {"AutoModel": "modeling_dflash.Draft"}},
    "auto-map-of-another-repository": {"auto_map": {"AutoConfig": "evil/x--configuration.Config"}},
    "auto-map-below": {"extra": {"auto_map": {"AutoModel": "m.X"}}},
    "auto-map-of-nothing": {"auto_map": {}},
}


@pytest.fixture(scope="module")
def judged(clones: Callable[[], Work]) -> Judged:
    work = clones()
    for number, (file, (content, _)) in enumerate(FILES.items()):
        place = recipe_of(work, f"file{number}", files=True) / file
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    for name, (content, _) in WEIGHTS.items():
        (recipe_of(work, name, files=True) / "model.safetensors").write_bytes(content)
    for name, keys in CONFIGS.items():
        file = recipe_of(work, name, files=True) / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | keys))
    for kind in ("weights", "document"):
        folder = recipe_of(
            work, kind, ("report.pdf: document", f"report.pdf: document\n    x.bin: {kind}"), files=True
        )
        (folder / "x.bin").write_bytes(PICKLE)
    recipe_of(work, "in-the-recipe", ("  config:\n", "  config:\n    auto_map: {AutoModel: m.X}\n"))
    result = judge(work, commit=False)
    assert not MARKER.exists()
    return result


@pytest.mark.parametrize("payload", [PICKLE, OLD_PICKLE], ids=["protocol-4", "protocol-0"])
def test_the_payload_would_have_run(payload: bytes) -> None:
    try:
        pickle.loads(payload)
        assert MARKER.exists()
    finally:
        MARKER.unlink(missing_ok=True)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_can_run_is_found_whatever_it_is_called(judged: Judged, file: str) -> None:
    name = f"file{list(FILES).index(file)}"
    assert judged.codes[name] == FILES[file][1] | {"K001"}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_that_are_something_else_are_named(judged: Judged, name: str) -> None:
    assert judged.codes[name] == WEIGHTS[name][1] | {"K001"}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_that_names_code_is_refused(judged: Judged, name: str) -> None:
    assert judged.codes[name] == {"X007", "K001"}


def test_a_recipe_can_declare_no_pickle_and_no_auto_map(judged: Judged) -> None:
    assert judged.codes["weights"] == {"R015", "X006", "K001"}
    assert judged.codes["document"] == {"F003", "X006", "K001"}
    assert judged.codes["in-the-recipe"] == {"R008"}


def test_nothing_was_imported_or_unpickled(judged: Judged) -> None:
    assert judged.seen.unpickled == []
    assert judged.exit == 1
