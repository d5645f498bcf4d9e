from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, renamed


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    renamed(
        folder,
        lambda name: name.replace("fc.weight", "encoder.fc.weight").replace(
            "hidden_norm", "encoder.output_norm_enc"
        ),
    )
