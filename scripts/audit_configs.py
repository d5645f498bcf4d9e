"""Audit config files of real drafts without their weights: family, inventory, and what zoo verify says.

For each JSON file, writes a checkpoint folder with that config.json and a sparse weights file with the
tensors that the config implies, and runs ``zoo verify FOLDER`` on it. Prints a markdown table.

    python scripts/audit_configs.py FILE.json ...
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from zoo.checkpoint.writer import header_bytes
from zoo.drafts.family import NotInventoriedError, family_of
from zoo.verify import verify_source


def row(file: Path, folder: Path) -> str:
    """One config: its family, the count and bytes of its tensors, and the codes with their messages."""
    config = json.loads(file.read_text())
    family = family_of(config)
    if family is None:
        return f"| {file.stem} | no draft that is known | | | |"
    named = str(config.get("dtype") or config.get("torch_dtype"))
    dtype = named if named in ("float16", "float32") else "bfloat16"
    try:
        specs = family.inventory(config, dtype)
    except (KeyError, TypeError, NotInventoriedError) as error:
        return f"| {file.stem} | {family.title} | | | {error} |"
    size = sum(spec.nbytes for spec in specs.values())
    folder.mkdir()
    (folder / "config.json").write_bytes(file.read_bytes())
    header = header_bytes(specs, {"format": "pt"})
    with (folder / "model.safetensors").open("wb") as weights:
        weights.write(header)
        weights.truncate(len(header) + size)
    found = sorted({(each.code, each.message) for each in verify_source(str(folder)).report.findings})
    said = "; ".join(f"{code} {message}" for code, message in found if code != "D010")
    return f"| {file.stem} | {family.title} | {len(specs)} | {size:,} | {said or 'nothing'} |"


def main(files: list[str]) -> int:
    print("| config | family | tensors | bytes | findings |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for index, file in enumerate(sorted(files)):
            print(row(Path(file), Path(folder) / str(index)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
