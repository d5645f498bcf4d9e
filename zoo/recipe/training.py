"""The training manifest: what the training run itself says. A JSON file beside the recipe, schema
``training-manifest/1``.

It is the only witness of what the weights were trained for, so recipe and config.json are compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.printable import quoted
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.recipe.validate import pointer
from zoo.results import Finding, Where
from zoo.rules.subject import Absent
from zoo.schemas import validator
from zoo.workspace import Zoo

Manifest = Mapping[str, Any]


def load_training(
    zoo: Zoo, recipe: Recipe
) -> tuple[Manifest | None, str, Absent | None, tuple[Finding, ...]]:
    """The manifest, its file name, the reason if there is none, and what is wrong with it (code R030)."""
    named = recipe.training.manifest
    if named == UNKNOWN:
        return None, "", Absent("the recipe names no training manifest", required=False), ()
    path = zoo.recipes / named
    file = zoo.shown(path)
    where = recipe.where("/training/manifest")
    if not path.resolve().is_relative_to(zoo.recipes.resolve()) or not path.is_file():
        found = Finding(
            f"training manifest {quoted(file)} is not there",
            "put the file there, or write unknown",
            where,
            code="R030",
        )
        return None, file, Absent(f"{file} is not there"), (found,)
    manifest, problems = read_json(path, file, JsonCodes("R030", "R030", "R030"))
    findings = [replace(each, code="R030", related=(where,)) for each in problems]
    if manifest is not None:
        for error in validator("training-manifest-1").iter_errors(manifest):
            place = pointer(error.absolute_path)
            message = f"not a training manifest: {quoted(error.message, 200)}"
            findings.append(
                Finding(
                    message, "see docs/recipes.md", Where(file, pointer=place or None), (where,), code="R030"
                )
            )
    if findings:
        return None, file, Absent(f"{file} could not be read"), tuple(findings)
    return manifest, file, None, ()
