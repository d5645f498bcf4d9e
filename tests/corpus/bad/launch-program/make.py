from pathlib import Path

from tests.corpus.kit import edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_profile(
        folder, "command: python -m sglang.launch_server", 'command: sh -c "python -m sglang.launch_server"'
    )
