from pathlib import Path

from tests.corpus.kit import edit_header, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_header(folder, lambda header: header["layers.0.mlp.up_proj.weight"]["shape"].reverse())
