from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    own = draft.config.pop("dflash_config")
    draft.config.update(own, architectures=["Qwen3DSparkModel"])
    write(folder, draft)
