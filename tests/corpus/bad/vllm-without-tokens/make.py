from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, served_by_vllm


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    served_by_vllm(folder, num_speculative_tokens=None)
