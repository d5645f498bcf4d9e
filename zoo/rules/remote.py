"""Rules about a checkpoint that was read from a hub."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.checkpoint.collect import Findings
from zoo.results import Finding
from zoo.rules.registry import Level, rule
from zoo.rules.subject import Subject


@rule("F220", "hub-sha256", level=Level.DEEP, needs=("scan", "reported_sha256"))
def hub_sha256(subject: Subject) -> Iterable[Finding]:
    """The bytes that a hub serves are not those that its listing states.

    What it does: compares the sha256 of every file that was read with the one that the hub lists (LFS files).
    Why is this bad: the upload, the storage or a cache between changed the file. Whoever downloads it gets
    other weights than those that were released, and a client that trusts the size does not notice.
    Example: a shard that was uploaded through xet with wrong content, and reported as complete.
    Use instead: the file uploaded again, under a new version.
    Sources: huggingface_hub#3643, huggingface_hub#3209.
    Since: 0.1.0
    """
    assert subject.scan is not None
    for name, stated in (subject.reported_sha256 or {}).items():
        read = subject.scan.files.get(name)
        if read is not None and read.sha256 != stated:
            found = Findings(name)
            fact = f"its bytes have the sha256 {read.sha256}, and the hub states {stated}"
            found.add("F220", fact, "read it again; if it stays so, upload the file again as a new version")
            yield from found.result()
