"""How a release came to be: an in-toto statement (https://in-toto.io/Statement/v1) about the files that an
engine reads, with the predicate type ``urn:draft-zoo:provenance-1`` (``zoo/schemas/provenance-1.json``).

It is one line of JSON, in a file that the manifest lists: the signature over the release is its signature
too. It has no time and no path of a machine, so that the same commit gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from zoo import __version__
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.digests import FileDigest, canonical_json, checkpoint_digest, engine_files, sha256_file, sha256_hex
from zoo.evidence import Evidence, evidence_folder
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.release.manifest import Manifest
from zoo.trust.git import Commit
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from collections.abc import Iterator

PREDICATE_TYPE = "urn:draft-zoo:provenance-1"


def build(
    zoo: Zoo,
    recipe: Recipe,
    declared: Iterable[FileDigest],
    evidence: Iterable[Evidence],
    training: Mapping[str, Any] | None,
    commit: Commit,
) -> bytes:
    """The provenance of a release of ``recipe``: the ``declared`` files, the ``evidence`` that was loaded for
    them and the ``training`` manifest.

    Raises:
        OSError: a record of evidence, or the training manifest, cannot be read any more.
    """
    files = engine_files(recipe, declared)
    digest = checkpoint_digest(files)
    target = recipe.target
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": file.path, "digest": {"sha256": file.sha256}}
            for file in sorted(files, key=lambda each: each.path)
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "name": recipe.name,
            "version": recipe.version,
            "repo": recipe.repo,
            "checkpoint_digest": digest,
            "recipe_digest": sha256_hex(canonical_json(recipe.data)),
            "target": {"name": target.name, "repo": target.repo.path, "revision": target.repo.revision},
            "source": {"commit": commit.commit, "dirty": commit.dirty},
            "tool": f"draft-zoo {__version__}",
            "engines": {each.name: f"{each.engine}=={each.version}" for each in recipe.profiles},
            "evidence": {
                f"{each.name}.json": {
                    "sha256": sha256_file(evidence_folder(zoo, recipe) / f"{each.name}.json"),
                    "checkpoint_digest": each.checkpoint_digest,
                    "outcome": str(each.outcome),
                    "signed_by": each.signed_by or None,
                }
                for each in evidence
                if not each.stale
            },
            "training": _training(zoo, recipe, training),
        },
    }
    return json.dumps(statement, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _training(zoo: Zoo, recipe: Recipe, training: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if training is None or recipe.training.manifest == UNKNOWN:
        return None
    return {
        "manifest_sha256": sha256_file(zoo.recipes / recipe.training.manifest),
        **{key: training[key] for key in ("run", "iteration", "step")},
        "inputs": training.get("inputs", []),
        "versions": training.get("versions", {}),
    }


def parse(raw: bytes) -> Mapping[str, Any]:
    """The statement in ``raw``.

    Raises:
        ValueError: it is no provenance of this kind; the message says why.
    """
    from zoo.schemas import validator

    try:
        statement = decode(raw)
    except MalformedJson as error:
        raise ValueError(f"it is not one line of JSON: {error.reason}") from None
    wrong = next(validator("provenance-1").iter_errors(statement), None)
    if wrong is not None:
        raise ValueError(f"{wrong.json_path} is not what the schema says")
    document: Mapping[str, Any] = statement
    return document


def contradictions(statement: Mapping[str, Any], manifest: Manifest) -> Iterator[str]:
    """What a statement says otherwise than the manifest of its release, one sentence each."""
    said, document = statement["predicate"], manifest.document
    for key in ("name", "version", "repo", "target", "checkpoint_digest", "recipe_digest", "tool"):
        if said[key] != document[key]:
            yield f"its {key} is not that of the manifest"
    listed, subject = (
        manifest.files,
        {each["name"]: each["digest"]["sha256"] for each in statement["subject"]},
    )
    other = sorted(
        name for name, sha256 in subject.items() if name not in listed or listed[name].sha256 != sha256
    )
    if other or len(subject) != len(statement["subject"]):
        yield f"its subject {json.dumps((other or ['twice'])[0])} is not a file of the manifest"
    elif checkpoint_digest(listed[name] for name in subject) != document["checkpoint_digest"]:
        yield "the files of its subject do not have the checkpoint digest of the manifest"
