from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    draft = dflash2()
    for side in ("predecessor", "successor"):
        name = f"candidate_selector.{side}_codebook"
        draft.tensors[f"{name}.weight"] = draft.tensors.pop(name)
    write(folder, draft)
