from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    (folder.parent / "recipes" / "parent.yaml").write_text(
        (folder.parent / "recipes" / "draft.yaml").read_text().replace("name: draft", "name: parent")
    )
    (folder.parent / "recipes" / "draft.yaml").write_text("extends: parent\nname: draft\nversion: 2.0.0\n")
