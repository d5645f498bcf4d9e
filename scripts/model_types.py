"""Write zoo/engines/readings/model_types.json: the model types that each engine version makes a config of.

Usage: python scripts/model_types.py FOLDER, with the wheels of WHEELS in FOLDER (pip download --no-deps).

The wheels are read as text (ast), never imported. An engine knows the types of the transformers that it
pins (vLLM: any version that its range allows, of which the newest stands here) and those that it registers.
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

WHEELS = {
    "sglang 0.5.14": ("sglang-0.5.14-*.whl", "transformers-5.8.1-*.whl"),
    "sglang 0.5.23": ("sglang-0.5.23-*.whl", "transformers-5.19.0-*.whl"),
    "vllm 0.33.0": ("vllm-0.33.0-*.whl", "transformers-5.20.2-*.whl"),
}
TARGET = Path(__file__).parent.parent / "zoo" / "engines" / "readings" / "model_types.json"
_AUTO = ("transformers/models/auto/auto_mappings.py", "transformers/models/auto/configuration_auto.py")
_SGLANG = ("sglang/srt/configs/", "sglang/srt/utils/hf_transformers/")
_VLLM = "vllm/transformers_utils/config.py"


def main() -> None:
    folder = Path(sys.argv[1])
    found = {
        engine: _own(_one(folder, own)) | _transformers(_one(folder, pinned))
        for engine, (own, pinned) in WHEELS.items()
    }
    every = set.intersection(*found.values())
    document = {
        "sources": {engine: [pattern.partition("-*")[0] for pattern in WHEELS[engine]] for engine in found},
        "every": sorted(every),
        **{engine: sorted(types - every) for engine, types in found.items()},
    }
    TARGET.write_text(json.dumps(document, indent=1) + "\n")


def _one(folder: Path, pattern: str) -> zipfile.ZipFile:
    (wheel,) = folder.glob(pattern)
    return zipfile.ZipFile(wheel)


def _transformers(wheel: zipfile.ZipFile) -> set[str]:
    """The keys of CONFIG_MAPPING_NAMES: an OrderedDict of pairs, and what configuration_auto adds to it."""
    pairs, added = (ast.parse(wheel.read(name)) for name in _AUTO)
    types = set()
    for node in pairs.body:
        if _assigns(node, "CONFIG_MAPPING_NAMES"):
            types |= {pair[0] for pair in ast.literal_eval(node.value.args[0])}  # type: ignore[attr-defined]
    for node in added.body:
        text = ast.unparse(node)
        if text.startswith(("CONFIG_MAPPING_NAMES.update(", "CONFIG_MAPPING_NAMES = ")):
            types |= {key for each in ast.walk(node) if isinstance(each, ast.Dict) for key in _keys(each)}
    return types


def _own(wheel: zipfile.ZipFile) -> set[str]:
    names = [name for name in wheel.namelist() if name.startswith(_SGLANG) and name.endswith(".py")]
    if not names:
        return _vllm(ast.parse(wheel.read(_VLLM)))
    return _sglang([ast.parse(wheel.read(name)) for name in names])


def _vllm(tree: ast.Module) -> set[str]:
    """The names of _CONFIG_REGISTRY, a call with keywords and ``**{name: class}``."""
    call = next(node.value for node in tree.body if _assigns(node, "_CONFIG_REGISTRY"))  # type: ignore[attr-defined]
    plain = {each.arg for each in call.keywords if each.arg is not None}
    return plain | {key for each in call.keywords if each.arg is None for key in _keys(each.value)}


def _sglang(trees: list[ast.Module]) -> set[str]:
    """The model_type of every config class that SGLang ships. A few of them it uses inside others only; a
    type too many is a refusal that a reading does not see, a type too few one that it makes up."""
    found = set()
    for node in (each for tree in trees for each in ast.walk(tree)):
        if isinstance(node, ast.ClassDef):
            found |= {
                each.value.value  # type: ignore[union-attr]
                for each in node.body
                if _assigns(each, "model_type") and isinstance(each.value, ast.Constant)  # type: ignore[attr-defined]
            }
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called == "AutoConfig.register" and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
            found.add(node.args[0].value)  # type: ignore[attr-defined]
    return {name for name in found if isinstance(name, str) and name}


def _assigns(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    assigns = isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
    return assigns and any(isinstance(each, ast.Name) and each.id == name for each in targets)


def _keys(node: ast.expr) -> Iterator[str]:
    assert isinstance(node, ast.Dict)
    yield from (
        key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
    )


if __name__ == "__main__":
    main()
