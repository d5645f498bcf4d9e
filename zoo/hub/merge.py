"""Merging a pull request: what three trees (fork, branch, request) make together, path by path."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.hub.repo import Repo


def merge_base(repo: Repo, ours: str, theirs: str) -> str:
    """The newest commit that both contain."""
    known = {oid for oid, _ in repo.history(ours)}
    return next(oid for oid, _ in repo.history(theirs) if oid in known)


def merged_files(
    base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Path -> blob id of the merge, and the paths that both sides changed, differently."""
    files: dict[str, str] = {}
    conflicts = []
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, our, their = base.get(path), ours.get(path), theirs.get(path)
        if their in (was, our):
            kept = our
        elif our == was:
            kept = their
        else:
            conflicts.append(path)
            continue
        if kept is not None:
            files[path] = kept
    return files, conflicts + _files_that_are_folders(files)


def try_merge(repo: Repo, ours: str, theirs: str) -> tuple[dict[str, str], list[str]]:
    """:func:`merged_files` of two commits of a repository."""
    base = merge_base(repo, ours, theirs)
    return merged_files(repo.blobs(base), repo.blobs(ours), repo.blobs(theirs))


def _files_that_are_folders(files: Mapping[str, str]) -> list[str]:
    """The paths of which the merge would make a file and a folder."""
    folders = {path[:at] for path in files for at, char in enumerate(path) if char == "/"}
    return sorted(folders & files.keys())
