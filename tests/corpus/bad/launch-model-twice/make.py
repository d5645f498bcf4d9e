from pathlib import Path

from tests.corpus.kit import arguments, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--tokenizer-path {draft}")
