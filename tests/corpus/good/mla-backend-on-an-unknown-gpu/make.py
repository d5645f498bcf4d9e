from pathlib import Path

from tests.corpus.kit import arguments, caveat, good_draft, good_recipe, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(
        folder,
        "--attention-backend trtllm_mla",
        "--speculative-draft-attention-backend triton",
        "--kv-cache-dtype bf16",
    )
    on(folder, "X9000")
    caveat(folder, "E018")
