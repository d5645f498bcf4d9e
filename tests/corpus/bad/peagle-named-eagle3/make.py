from pathlib import Path

from tests.corpus.families import peagle, write


def make(folder: Path) -> None:
    draft = peagle()
    draft.config["architectures"] = ["LlamaForCausalLMEagle3"]
    write(folder, draft)
