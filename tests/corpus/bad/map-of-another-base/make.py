from pathlib import Path

from tests.corpus.beside import offsets_of, with_map
from tests.corpus.families import eagle3, recipe, write
from tests.corpus.kit import edit_recipe


def make(folder: Path) -> None:
    draft = eagle3()
    recipe(folder, draft)
    edit_recipe(folder, '"target": "big",', '"target": "big", "base": {"repo": "./base"},')
    write(folder.parent / "base", draft)
    ids = [*range(63), *range(191, 256)]
    used = bytes(token in ids for token in range(256))
    write(folder, with_map(with_map(draft, "d2t", offsets_of(ids)), "t2d", used))
