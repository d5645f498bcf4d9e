from pathlib import Path

from tests.corpus.families import VOCAB, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(VOCAB)
    draft.config["tie_word_embeddings"] = True
    write(folder, draft)
