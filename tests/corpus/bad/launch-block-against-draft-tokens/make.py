from pathlib import Path

from tests.corpus.kit import edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_profile(
        folder,
        "--speculative-dflash-block-size 8",
        "--speculative-num-draft-tokens 8\n  - --speculative-dflash-block-size 16",
    )
