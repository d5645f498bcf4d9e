from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    draft = dflash2()
    del draft.config["dflash_config"]["conv_group_size"]
    write(folder, draft)
