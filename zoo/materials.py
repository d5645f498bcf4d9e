"""The materials of a verification beside recipe and checkpoint: vocabulary maps, target, bytes of the base
draft, data manifests. Each function takes a subject and gives it with one more material, or with the reason
why that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from zoo.checkpoint.compare import unchanged_tensors
from zoo.checkpoint.folder import CONFIG_NAME
from zoo.checkpoint.maps import read_maps
from zoo.checkpoint.model import Checkpoint
from zoo.recipe.data import load_data
from zoo.remote.address import is_remote
from zoo.rules import Absent, Level, Subject
from zoo.sources import Sources
from zoo.workspace import Zoo

_NOT_UNDERSTOOD = "a weights file could not be understood, or there is none"


def gather(
    subject: Subject,
    level: Level,
    zoo: Zoo | None = None,
    target: str | None = None,
    sources: Sources | None = None,
) -> Subject:
    """``subject`` with everything that ``level`` reads; ``target`` is the folder or config.json that the user
    named, or a remote source, of which config.json is read.

    Raises:
        UnreadableError: what the user named cannot be opened, or changed while it was read.
    """
    subject = _with_maps(subject)
    subject = _with_target(subject, zoo, target, sources or Sources())
    if zoo is not None and subject.recipe is not None:
        data, found = load_data(zoo, subject.recipe)
        subject = replace(subject, data=data, reported=subject.reported + found)
    return _with_bytes(subject) if level is Level.DEEP else subject


def _without(subject: Subject, material: str, reason: str, *, required: bool = True) -> Subject:
    return replace(subject, missing={**subject.missing, material: Absent(reason, required)})


def _with_maps(subject: Subject) -> Subject:
    """The values of the vocabulary maps, of the draft and of its base."""
    for material, checkpoint in (("maps", subject.checkpoint), ("base_maps", subject.base)):
        if checkpoint is None:
            continue
        maps, reason = read_maps(checkpoint) if _all_understood(checkpoint) else (None, _NOT_UNDERSTOOD)
        if maps is None:
            subject = _without(subject, material, reason)
        elif material == "maps":
            subject = replace(subject, maps=maps)
        else:
            subject = replace(subject, base_maps=maps)
    ours = subject.maps
    if ours is not None and not ours.d2t and not ours.t2d:
        return replace(subject, base_maps=ours)  # nothing to compare, with or without the base
    return subject


def _with_target(subject: Subject, zoo: Zoo | None, named: str | None, sources: Sources) -> Subject:
    """The target: what the user named or, else, a folder of the zoo that the target file names."""
    file = subject.recipe.target if subject.recipe is not None else None
    if named is not None:
        path, source = Path(named).expanduser(), named
    elif zoo is not None and file is not None and _is_folder(zoo, file.repo.path):
        path, source = zoo.root / file.repo.path, file.repo.path
    else:
        name = "SOURCE" if subject.recipe is None else subject.recipe.name
        reason = f"the target is not here; zoo verify {name} --target FOLDER (or config.json) compares it"
        return _without(subject, "target", reason, required=False)
    if is_remote(source):
        # Only what it is, not its tokens: its tables have gigabytes.
        path = sources.open(source).root / CONFIG_NAME
        source = source.rstrip("/") + "/"
    from zoo.checkpoint.target import open_target

    target, reason, found = open_target(path, source)
    if file is not None:
        found = tuple(replace(each, related=(file.where("/repo"),)) for each in found)
    subject = replace(subject, target=target, target_source=source, reported=subject.reported + found)
    return subject if target is not None else _without(subject, "target", reason)


def _is_folder(zoo: Zoo, repo: str) -> bool:
    return repo.startswith("./") and (zoo.root / repo).is_dir()


def _with_bytes(subject: Subject) -> Subject:
    """What only the bytes of base and target tell."""
    ours, base = subject.checkpoint, subject.base
    if ours is not None and base is not None:
        if _all_understood(ours) and _all_understood(base):
            subject = replace(subject, unchanged=unchanged_tensors(ours, base))
        else:
            subject = _without(subject, "unchanged", _NOT_UNDERSTOOD)
    mask, embedding = subject.mask, subject.embedding
    if embedding is None:
        return subject
    from zoo.checkpoint.target import rows_like

    twins = rows_like(embedding, mask.value) if mask is not None and mask.value < embedding.rows else ()
    return replace(subject, mask_twins=twins)


def _all_understood(checkpoint: Checkpoint) -> bool:
    return bool(checkpoint.weights) and all(file.header is not None for file in checkpoint.weights)
