from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    draft = dflash2()
    for name in ("predecessor_codebook", "successor_codebook", "hidden_projection.weight"):
        del draft.tensors[f"candidate_selector.{name}"]
    write(folder, draft)
