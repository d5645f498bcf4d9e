"""Which names are allowed: of users and repositories, of branches and tags, of files.

Names become parts of paths on the disk and of git's files, so each is checked against a list of what is
allowed, not of what is not.
"""

from __future__ import annotations

import re

from zoo.hub.errors import HubError, bad_request

# As huggingface_hub's validate_repo_id: letters, digits, "-", "_", "."; 96 characters.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
# First parts of paths that mean something else on this server or on the Hub.
_RESERVED = frozenset({"api", "models", "datasets", "spaces", "kernels", "buckets", "settings", "docs"})
# git check-ref-format(1), and narrower.
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}")
COMMIT = re.compile(r"[0-9a-f]{40}")
SHA256 = re.compile(r"[0-9a-f]{64}")
# What most file systems allow in one name, and a path that a client can still save below its own folder.
_PART_BYTES = 255
_PATH_BYTES = 1024


def is_name(name: object) -> bool:
    """Whether ``name`` may name a user, an organization or a repository."""
    return (
        isinstance(name, str)
        and _NAME.fullmatch(name) is not None
        and ".." not in name
        and "--" not in name
        and not name.lower().endswith((".git", ".ipynb"))
        and name.lower() not in _RESERVED
    )


def check_ref_name(name: object) -> str:
    """``name``, if a branch or tag may have it. Raises HubError 400."""
    if not isinstance(name, str) or not _REF.fullmatch(name) or not all(map(_is_ref_part, name.split("/"))):
        raise bad_request("Invalid name of a branch or tag")
    if name.startswith("refs/") or name == "HEAD" or COMMIT.fullmatch(name):
        raise bad_request("A branch or tag may not be named like a reference or a commit")
    return name


def _is_ref_part(part: str) -> bool:
    return bool(part) and ".." not in part and part[0] != "." and not part.endswith((".", ".lock"))


def check_path(path: object) -> str:
    """``path`` of a file below the repository, if it is safe on every system. Raises HubError 400."""
    if not isinstance(path, str) or not path or len(_utf8(path)) > _PATH_BYTES or "\\" in path:
        raise bad_request("Invalid path of a file")
    for part in path.split("/"):
        if part in ("", ".", "..") or part.lower() == ".git" or len(_utf8(part)) > _PART_BYTES:
            raise bad_request("Invalid path of a file")
        if not part.isprintable():
            raise bad_request("A path of a file holds characters that do not print")
    return path


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise bad_request("Half of a surrogate pair in a text") from None


def check_text(text: object, what: str, limit: int) -> str:
    """``text``, if it can be kept: a string of at most ``limit`` characters. Raises HubError 400."""
    if not isinstance(text, str) or len(text) > limit or "\0" in text:
        raise HubError(400, f"{what} must be text of at most {limit} characters")
    _utf8(text)
    return text
