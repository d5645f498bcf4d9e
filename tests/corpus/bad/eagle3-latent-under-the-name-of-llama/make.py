from pathlib import Path

from tests.corpus.families import eagle3, latent, write


def make(folder: Path) -> None:
    draft = latent(eagle3())
    draft.config["architectures"] = ["LlamaForCausalLMEagle3"]
    write(folder, draft)
