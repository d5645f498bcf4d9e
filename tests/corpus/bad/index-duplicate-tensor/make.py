from pathlib import Path

from tests.corpus.kit import INDEX, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    text = (folder / INDEX).read_text()
    line = '"fc.weight": "model-00001-of-00002.safetensors",'
    (folder / INDEX).write_text(text.replace(line, line + line))
