from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    tensors = draft_tensors()
    parts = [tensors.pop(f"layers.0.self_attn.{name}_proj.weight") for name in "qkv"]
    tensors["layers.0.self_attn.qkv_proj.weight"] = ("BF16", (128, 64), b"".join(part[2] for part in parts))
    save(folder / WEIGHTS, tensors)
