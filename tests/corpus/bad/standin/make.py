from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    save(folder / WEIGHTS, draft_tensors(), {"draft_zoo_standin": "draft 1.0.0"})
