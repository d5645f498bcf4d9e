from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    draft.config["dspark_noise_token_id"] = 5
    write(folder, draft)
