from pathlib import Path

from tests.corpus.families import Draft, dspark, write
from tests.corpus.kit import config


def make(folder: Path) -> None:
    draft = dspark()
    tensors = {
        name.replace("markov_head.", "").replace("confidence_head.proj", "confidence_proj"): tensor
        for name, tensor in draft.tensors.items()
    }
    write(folder, Draft("dflash", config(), tensors))
