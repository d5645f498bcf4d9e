"""Evidence of another version of a draft that counts for this one too, if it is copied beside it.

A record is bound to the weights and to what the check depends on (``zoo.evidence``), not to a version: a
version that changes words or the launch command alone has nothing to measure again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from zoo.evidence import Evidence, evidence_folder, load_evidence
from zoo.recipe.model import Recipe
from zoo.release.gates import of_evidence
from zoo.release.log import is_version
from zoo.release.record import precedence
from zoo.results import Outcome
from zoo.workspace import Zoo


def copy_command(zoo: Zoo, recipe: Recipe, gate: str, checkpoint_digest: str) -> str:
    """The shell command that brings the records of the newest other version which answer ``gate`` for this
    checkpoint and recipe, with their signatures; "" if no version has any.

    Raises as :func:`zoo.evidence.load_evidence` does.
    """
    there = evidence_folder(zoo, recipe)
    for folder in _others(zoo, recipe):
        records, _ = load_evidence(zoo, replace(recipe, version=folder.parent.name), checkpoint_digest)
        counting = [record for record in records if record.kind == gate and not record.stale]
        if of_evidence(gate, counting, recipe)[0] is not Outcome.NOT_CHECKED:
            return f"mkdir -p {zoo.shown(there)} && cp {_files(zoo, folder, counting)} {zoo.shown(there)}/"
    return ""


def _others(zoo: Zoo, recipe: Recipe) -> list[Path]:
    """The folders of evidence of all other versions, the highest version first."""
    found = zoo.release_folder(recipe.name).glob("*/evidence")
    versions = {path.parent.name: path for path in found if is_version(path.parent.name)}
    versions.pop(recipe.version, None)
    return [versions[version] for version in sorted(versions, key=precedence, reverse=True)]


def _files(zoo: Zoo, folder: Path, records: list[Evidence]) -> str:
    # The star takes the signature along: NAME.json.sig.
    return " ".join(f"{zoo.shown(folder / record.name)}.json*" for record in records)
