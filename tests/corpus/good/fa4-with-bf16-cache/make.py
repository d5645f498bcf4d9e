from pathlib import Path

from tests.corpus.kit import caveat, edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_profile(
        folder,
        "  - --spec",
        "  - --speculative-draft-attention-backend fa4\n  - --kv-cache-dtype bf16\n  - --spec",
    )
    caveat(folder, "E002")
