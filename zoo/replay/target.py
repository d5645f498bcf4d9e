"""The target whose states are recorded: its files, compared with the target file of the zoo."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.model import Checkpoint
from zoo.checkpoint.target import open_target
from zoo.errors import UnreadableError, UsageError
from zoo.printable import quoted
from zoo.recipe.model import UNKNOWN, Target
from zoo.replay.head import Head

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class TargetFiles:
    """A folder or repository that holds the target. ``context``: max_position_embeddings, None if nobody says
    it."""

    target: Target
    checkpoint: Checkpoint
    head: Head
    context: int | None
    config_sha256: str
    tokenizer_sha256: str

    @property
    def folder(self) -> Path | None:
        """The local folder, None for a remote source."""
        return self.checkpoint.root if self.checkpoint.opener is None else None

    def as_index(self) -> dict[str, Any]:
        """The fields of a trace's index that bind it to this target."""
        target = self.target
        return {
            "target": {
                "name": target.name,
                "repo": target.repo.path,
                "revision": target.repo.revision or self.checkpoint.revision or UNKNOWN,
                "layers": target.layers,
                "hidden_size": target.hidden_size,
                "vocab_size": target.vocab_size,
                "config_sha256": self.config_sha256,
            },
            "tokenizer_sha256": self.tokenizer_sha256,
        }


def target_files(target: Target, checkpoint: Checkpoint) -> TargetFiles:
    """The files of ``target`` in ``checkpoint``, if they are what the target file says.

    Raises:
        UnreadableError: config.json or the shards cannot be used.
        UsageError: they contradict the target file.
    """
    if "config.json" not in checkpoint.files:
        raise UnreadableError(
            f"{quoted(checkpoint.source)} has no config.json",
            hint="give the folder of the target: --model FOLDER",
        )
    shown = checkpoint.source.rstrip("/") + "/"
    found, reason, findings = open_target(checkpoint.root / "config.json", shown)
    if found is None:
        raise UnreadableError(
            findings[0].message if findings else reason, hint="give the folder of the target: --model FOLDER"
        )
    for key in ("layers", "hidden_size", "vocab_size"):
        theirs, stated = getattr(found, key), getattr(target, key)
        if theirs != stated:
            raise UsageError(
                f"config.json of {quoted(checkpoint.source)} has {key} {theirs:,}, {target.file} {stated:,}",
                hint="give the folder of this very target, or correct the target file",
            )
    if target.repo.revision and checkpoint.revision and not _same(target.repo.revision, checkpoint.revision):
        raise UsageError(
            f"{quoted(checkpoint.source)} is at {checkpoint.revision}, and {target.file} pins another commit",
            hint=f"give the pinned one: --model hf://{target.repo.path}@{target.repo.revision}",
        )
    tokenizer = _sha256(checkpoint, "tokenizer.json") if "tokenizer.json" in checkpoint.files else UNKNOWN
    stated_tokenizer = _tokenizer(target.data)
    if UNKNOWN not in (tokenizer, stated_tokenizer) and tokenizer != stated_tokenizer:
        raise UsageError(
            f"tokenizer.json of {quoted(checkpoint.source)} has another sha256 than {target.file} states",
            hint="give the folder of this very target, or correct the target file",
        )
    return TargetFiles(
        target=target,
        checkpoint=checkpoint,
        head=Head(checkpoint, target),
        context=found.max_position_embeddings or target.max_position_embeddings,
        config_sha256=_sha256(checkpoint, "config.json"),
        tokenizer_sha256=tokenizer,
    )


def _same(pinned: str, commit: str) -> bool:
    """Whether a pinned revision can be this commit: another one only if it is a commit itself."""
    is_commit = len(pinned) == 40 and all(digit in "0123456789abcdef" for digit in pinned)
    return not is_commit or pinned == commit


def _tokenizer(data: Mapping[str, Any]) -> str:
    return str(data.get("tokenizer", {}).get("sha256", UNKNOWN))


def _sha256(checkpoint: Checkpoint, name: str) -> str:
    digest = hashlib.sha256()
    try:
        with (
            open_regular(checkpoint.root / name)
            if checkpoint.opener is None
            else checkpoint.opener(name) as file
        ):
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise UnreadableError(
            f"{name} of {quoted(checkpoint.source)} cannot be read ({error.strerror or error})",
            hint="check the permissions of the file",
        ) from error
    return digest.hexdigest()
