"""Evidence that a change brings to a version which is not the recipe's: signed, and bound to its manifest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ci.example import Work
from tests.ci.test_versions_and_manifests import found

Clone = Callable[[str], Work]
RECORD = "release/tiny/1.0.0/evidence/replay-held-out.json"


def of_the_published(work: Work) -> None:
    """A record of tiny 1.0.0, and the recipe goes on to 1.1.0."""
    assert work.record("tiny") == RECORD
    go_on(work)


def go_on(work: Work) -> None:
    work.edit("recipes/tiny.yaml", "version: 1.0.0", "version: 1.1.0")
    work.card("tiny")


def places(result: dict[str, Any], code: str) -> list[str]:
    return [file for _, file, _ in found(result, code, "tiny")]


def test_good_evidence_of_a_published_version_is_welcome(clone: Clone) -> None:
    work = clone("main")
    of_the_published(work)
    result = work.ci()
    assert result["exit"] == 0
    assert (places(result, "V007"), places(result, "V009")) == ([], [RECORD])


def test_it_needs_a_signature_of_a_signer_of_the_base(clone: Clone) -> None:
    work = clone("signed")
    of_the_published(work)
    result = work.ci(base="signed")
    assert (result["exit"], places(result, "V010")) == (1, [RECORD])
    work.sign(RECORD, by="mallory")
    assert places(work.ci(base="signed"), "V010") == [RECORD]
    work.remove(f"{RECORD}.sig")
    work.sign(RECORD)
    result = work.ci(base="signed")
    assert (result["exit"], places(result, "V010")) == (0, [])


def test_it_is_about_the_files_of_that_version(clone: Clone) -> None:
    work = clone("main")
    work.weights("checkpoint")  # of 1.1.0, not of what was published
    work.record("tiny")
    go_on(work)
    result = work.ci()
    assert result["exit"] == 1
    [(message, file, _)] = found(result, "V007", "tiny")
    assert (message, file) == ("it is not about the files of tiny 1.0.0", RECORD)


def test_a_version_without_a_manifest_has_no_files_that_it_could_be_about(clone: Clone) -> None:
    work = clone("main")
    of_the_published(work)
    path = RECORD.replace("1.0.0", "0.5.0")
    work.write(path, work.read(RECORD))
    work.remove(RECORD)
    [(message, file, _)] = found(work.ci(), "V007", "tiny")
    assert (message, file) == ("it is not about the files of tiny 0.5.0", path)


def test_it_does_not_contradict_itself(clone: Clone) -> None:
    work = clone("main")
    of_the_published(work)

    def counts(document: dict[str, Any]) -> None:
        document["results"][0]["measured"]["verify_steps"] = 90

    work.json(RECORD, counts)
    result = work.ci()
    assert result["exit"] == 1
    assert places(result, "V007") == [RECORD]


def test_it_is_a_record(clone: Clone) -> None:
    work = clone("main")
    of_the_published(work)
    work.write(RECORD, "{}")
    assert set(places(work.ci(), "V007")) == {RECORD}
