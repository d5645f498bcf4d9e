from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    state = folder / ".cache" / "huggingface" / "download"
    state.mkdir(parents=True)
    (state / "model.safetensors.metadata").write_text("revision")
