from pathlib import Path

from tests.corpus.families import eagle3, latent, write


def make(folder: Path) -> None:
    write(folder, latent(eagle3()))
