from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    for number in (1, 2):
        del draft.tensors[f"markov_head.markov_w{number}.weight"]
    write(folder, draft)
