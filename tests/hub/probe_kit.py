"""What the probes share: four clients, and short ways to commit and to be refused."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from typing import Any

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import (
    HfHubHTTPError,
)

ENDPOINT = os.environ["HF_ENDPOINT"]
REPO = sys.argv[1]
OWNER = REPO.split("/")[0]
api = HfApi()
stranger = HfApi(token=os.environ["STRANGER_TOKEN"])
reader = HfApi(token=os.environ["READ_TOKEN"])
nobody = HfApi(token=False)

CARD = b"---\nlicense: apache-2.0\ntags:\n- draft-model\n---\n# A draft\n"
WEIGHTS = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(100_000))
HEADER = b'{"w":{"dtype":"U8","shape":[3200000],"data_offsets":[0,3200000]}}'
TENSORS = len(HEADER).to_bytes(8, "little") + HEADER + WEIGHTS
SHA256 = hashlib.sha256(TENSORS).hexdigest()
seen: dict[str, Any] = {}


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def refused(call: Callable[[], Any], status: int, kind: type[Exception] = HfHubHTTPError) -> HfHubHTTPError:
    """The error of ``call``, which must be refused with ``status``."""
    caught: HfHubHTTPError | None = None
    try:
        call()
    except HfHubHTTPError as error:
        caught = error
    assert caught is not None, f"was not refused ({status})"
    assert isinstance(caught, kind), f"{type(caught).__name__} instead of {kind.__name__}"
    assert caught.response.status_code == status, caught.response.status_code
    return caught


def add(path: str, content: bytes) -> CommitOperationAdd:
    return CommitOperationAdd(path_in_repo=path, path_or_fileobj=content)


def commit(*operations: Any, who: HfApi = api, message: str = "a commit", **more: Any) -> Any:
    return who.create_commit(REPO, list(operations), commit_message=message, **more)


def head(revision: str = "main") -> str:
    return str(api.repo_info(REPO, revision=revision).sha)


def pull(number: int) -> str:
    return f"refs/pr/{number}"
