"""Configs with the values of public drafts go all the way: stand-in, audit, recipe, and no finding."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests import tiny_drafts
from tests.drafts.configs import nbytes
from tests.public_configs import CONFIGS, DFLASH2
from zoo.checkpoint.writer import header_bytes
from zoo.drafts.family import family_of
from zoo.recipe.config import config_of
from zoo.recipe.load import usable_recipe
from zoo.results import Severity
from zoo.standin import write_standin
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

# Tensors of the file and bytes of tensor data.
PUBLISHED = {
    "kimi-k2.7-code-dflash": (69, 6_958_554_112),
    "muse-glimmer-dflash2": (81, 5_544_319_488),
    "qwen3-8b-dflash": (58, None),
    "qwen3-8b-dspark": (62, None),
    "qwen3-8b-domino": (62, None),
    "qwen3-8b-eagle3": (15, None),
    "qwen3-30B-A3B-eagle3.1": (18, None),
    "qwen3-8b-peagle": (44, None),
}


def sparse(folder: Path, name: str) -> None:
    """The draft with all its tensors, in a file of holes; only the vocabulary maps have data."""
    config = CONFIGS[name]
    family = family_of(config)
    assert family is not None
    specs = family.inventory(config, config["dtype"])
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    header = header_bytes(specs, {"format": "pt"})
    with (folder / "model.safetensors").open("wb") as file:
        file.write(header)
        for tensor, spec in specs.items():
            if tensor == "d2t":  # the first and the last tokens of the target
                half, offset = spec.shape[0] // 2, config["vocab_size"] - spec.shape[0]
                file.write(bytes(8 * half) + offset.to_bytes(8, "little") * (spec.shape[0] - half))
            elif tensor == "t2d":
                kept = config["draft_vocab_size"]
                gap = bytes(spec.shape[0] - kept)
                file.write(b"\x01" * (kept // 2) + gap + b"\x01" * (kept - kept // 2))
            else:
                file.seek(spec.nbytes, os.SEEK_CUR)
        file.truncate(file.tell())


@pytest.mark.parametrize("name", CONFIGS)
def test_a_public_config_round_trips(tmp_path: Path, name: str) -> None:
    """Config -> checkpoint -> audit -> recipe -> config and stand-in -> verify: nothing is lost or added."""
    sparse(tmp_path / "draft", name)
    audit = verify_source(str(tmp_path / "draft")).report
    assert not [found for found in audit.findings if found.severity is Severity.ERROR]
    tiny_drafts.recipe_of(tmp_path / "draft", tmp_path / "zoo", "mine")
    zoo = find_zoo(tmp_path / "zoo")
    recipe = usable_recipe(zoo, "mine")
    written = config_of(recipe)
    assert {key: written[key] for key in CONFIGS[name]} == CONFIGS[name]
    assert {key for key in written if key not in CONFIGS[name] and written[key] is not None} == set()
    made = write_standin(recipe, tmp_path / "standin")
    report = verify_recipe(zoo, "mine", checkpoint=str(tmp_path / "standin")).report
    errors = {found.code for found in report.findings if found.severity is Severity.ERROR}
    # SGLang does not start what SpecForge writes for P-EAGLE, Domino (by name) and DSpark (nested keys).
    # It raises for an EAGLE3 config without draft_vocab_size, too.
    family = family_of(CONFIGS[name])
    assert family is not None
    whole = family.name == "eagle3" and "draft_vocab_size" not in CONFIGS[name]
    refused = whole or family.name in ("peagle", "domino", "dspark")
    assert errors <= ({"L003", "E022"} if refused else set())
    if name in PUBLISHED:
        count, size = PUBLISHED[name]
        assert made.tensors == count
        assert size in (None, made.nbytes)


def test_the_published_dflash2_draft_without_its_heads() -> None:
    whole = CONFIGS["muse-glimmer-dflash2"]
    plain = {key: value for key, value in whole["dflash_config"].items() if key not in DFLASH2}
    family = tiny_drafts.family_named("dflash2")
    specs = family.inventory({**whole, "dflash_config": plain}, "bfloat16")
    assert (len(specs), nbytes(specs)) == (58, 5_111_970_304)
