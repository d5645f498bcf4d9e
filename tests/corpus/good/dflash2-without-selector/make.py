from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    draft = dflash2()
    own = draft.config["dflash_config"]
    del own["selector_rank"], own["selector_top_k"]
    for name in ("predecessor_codebook", "successor_codebook", "hidden_projection.weight"):
        del draft.tensors[f"candidate_selector.{name}"]
    write(folder, draft)
