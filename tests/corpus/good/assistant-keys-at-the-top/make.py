from pathlib import Path

from tests.corpus.kit import config, good_draft, renamed


def make(folder: Path) -> None:
    own = config()["dflash_config"]
    good_draft(folder, architectures=["MuseGlimmerAssistantModel"], dflash_config=None, **own)
    fusion = {"fc.weight": "encoder.fc.weight", "hidden_norm.weight": "encoder.output_norm_enc.weight"}
    renamed(folder, lambda name: fusion.get(name, name))
