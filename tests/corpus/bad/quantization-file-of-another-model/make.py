from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    (folder / "hf_quant_config.json").write_text("{}")
