from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(fc_norm=True)
    for index, word in enumerate(("low", "mid", "high")):
        draft.tensors[f"aux_norm_{word}.weight"] = draft.tensors.pop(f"fc_norm.{index}.weight")
    write(folder, draft)
