"""What must be true of a hub while a release is stopped, and after it was run again until it succeeded.

Each function returns what is wrong, in words; nothing wrong is an empty list.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.reliability.scenario import STRAY, Cell

TAG = "v1.0.0"
# The hub's own file, and what a manifest cannot list: itself, and the signature over it.
_UNLISTED = {".gitattributes", "manifest.json", "model.sig"}


def visible(cell: Cell) -> str:
    """How much of the version the hub holds."""
    if TAG in cell.hub.tags():
        return "tagged"
    if _new_commits(cell):
        return "a commit without a tag"
    if cell.hub.pull_requests():
        return "a pull request"
    return "nothing"


def stopped(cell: Cell) -> list[str]:
    """After a run that did not succeed: nothing is half visible."""
    problems, tags = [], cell.hub.tags()
    if TAG in tags:
        problems += _whole(cell, tags[TAG])
    elif cell.scenario.public and cell.hub.private() is False:
        problems.append("it is public before it is tagged")
    problems += _earlier(cell, tags)
    new = _new_commits(cell)
    if len(new) > 1:
        problems.append(f"{len(new)} new commits on main")
    if any(each not in {"main"} for each in cell.hub.branches()):
        problems.append("a branch was made")
    return problems


def finished(cell: Cell) -> list[str]:
    """After the last run: one commit, one tag, the right bytes, and a record that agrees."""
    problems, tags, new = stopped(cell), cell.hub.tags(), _new_commits(cell)
    if len(new) != 1:
        problems.append(f"{len(new)} new commits on main, not 1")
    if tags.get(TAG) not in new or len(tags) != 1 + cell.scenario.earlier:
        problems.append(f"tags {dict(tags)}, new commits {list(new)}")
    if cell.hub.private() is cell.scenario.public:
        problems.append("it is not as visible as was asked for")
    requests = cell.hub.pull_requests()
    if [each["status"] for each in requests] != ["merged"] * (cell.scenario.name == "proposal"):
        problems.append(f"pull requests: {[each['status'] for each in requests]}")
    return [*problems, *_record(cell, tags.get(TAG, ""))]


def _new_commits(cell: Cell) -> tuple[str, ...]:
    """The commits on main that the release made; a new repository begins with one of the hub's own."""
    commits = cell.hub.commits()
    before = cell.before or commits[-1:]
    return commits[: len(commits) - len(before)]


def _earlier(cell: Cell, tags: Any) -> list[str]:
    """What was there before is there, and the version before is where it was."""
    commits, problems = cell.hub.commits(), []
    if cell.before and commits[-len(cell.before) :] != cell.before:
        problems.append("the history changed")
    # The commit below the one that somebody else made.
    if cell.scenario.earlier and tags.get("v0.9.0") != cell.before[1]:
        problems.append("v0.9.0 moved")
    return problems


def _whole(cell: Cell, commit: str) -> list[str]:
    """Exactly the files of the manifest are under ``commit``, with the bytes of the checkpoint."""
    files, problems = cell.hub.files(commit), []
    manifest = json.loads(files.get("manifest.json", b'{"files": []}'))
    listed = {each["path"]: each for each in manifest["files"]}
    expected = set(listed) | (_UNLISTED if cell.scenario.name == "signed" else _UNLISTED - {"model.sig"})
    if set(files) != expected:
        problems.append(f"files {sorted(set(files) ^ expected)} are missing or too many")
    for path, content in files.items():
        if path in listed and hashlib.sha256(content).hexdigest() != listed[path]["sha256"]:
            problems.append(f"{path} is not what the manifest says")
        source = cell.root / "checkpoint" / path
        if source.is_file() and source.read_bytes() != content:
            problems.append(f"{path} is not that of the checkpoint")
    missing = [path.name for path in (cell.root / "checkpoint").iterdir() if path.name not in files]
    if missing or STRAY in files:
        problems.append(f"missing: {missing}; {STRAY} was left: {STRAY in files}")
    return problems


def _record(cell: Cell, commit: str) -> list[str]:
    """``release/`` says what the hub holds."""
    folder, problems = cell.root / "release/tiny", []
    lines = (folder / "log.jsonl").read_text().splitlines() if (folder / "log.jsonl").exists() else []
    events = [json.loads(line) for line in lines]
    ours = [each for each in events if each["version"] == "1.0.0"]
    published = [each for each in ours if each["event"] == "published"]
    proposed = [each for each in ours if each["event"] == "proposed"]
    if (
        len(published) != 1
        or len(proposed) != (cell.scenario.name == "proposal")
        or len(events) != (len(published) + len(proposed) + cell.scenario.earlier)
    ):
        return [f"the log has {[(each['event'], each['version']) for each in events]}"]
    files = cell.hub.files(commit) if commit else {}
    manifest = hashlib.sha256(files.get("manifest.json", b"")).hexdigest()
    said = {key: published[0].get(key) for key in ("ref", "tag", "manifest_sha256")}
    if said != {"ref": commit, "tag": TAG, "manifest_sha256": manifest}:
        problems.append(f"the log says {said}, and the hub has {commit} with manifest {manifest}")
    recorded = {path.name: path.read_bytes() for path in (folder / "1.0.0").iterdir() if path.is_file()}
    wrong = [name for name, content in recorded.items() if files.get(name) != content]
    if wrong or not {"README.md", "notes.md", "manifest.json"} <= set(recorded):
        problems.append(
            f"release/tiny/1.0.0 has {sorted(recorded)}, of which {wrong} are not those of the hub"
        )
    return problems
