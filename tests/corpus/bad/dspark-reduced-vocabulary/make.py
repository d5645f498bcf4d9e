from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    draft.config["draft_vocab_size"] = 128
    write(folder, draft)
