from pathlib import Path

from tests.corpus.kit import draft_tensors, edit_index, load, save, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    edit_index(folder, lambda index: index.pop("metadata"))
    second = folder / "model-00002-of-00002.safetensors"
    header, _ = load(second)
    tensors = draft_tensors()
    save(second, {name: tensors[name] for name in (*header, "fc.weight") if name in tensors})
