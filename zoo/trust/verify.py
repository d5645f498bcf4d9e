"""Verifying a release as a stranger: its signature, its files, its manifest, its provenance and its evidence,
in this order, each against the one before it.

The findings have the codes P001 to P005 (``zoo.rules.trust``). Nothing but the signature is believed: a
manifest counts because it is one of the signed files, the provenance because the manifest lists it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from zoo import rules
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.checkpoint.model import Checkpoint
from zoo.digests import sha256_hex
from zoo.errors import TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release import manifest as manifests
from zoo.release.log import is_version
from zoo.release.manifest import Manifest
from zoo.release.paths import SIZE_LIMIT
from zoo.results import Finding, Where
from zoo.rules import Absent, Level, Subject
from zoo.trust import provenance, signing
from zoo.trust.keyless import Signatory
from zoo.trust.signing import Signed
from zoo.verify import Verification

# A hub adds it, and nobody signs it.
_HUBS_OWN = ".gitattributes"
_EVIDENCE = "evidence/"
_CHUNK = 1024 * 1024
_CHANGED = "get the files again where they were published; a released version never changes"
NO_LIST = "a plain web server cannot list its files; download them, and verify the folder"
NO_KEY = "no trusted key was given; add --key FILE, or run it in a zoo with signers"


@dataclass(frozen=True)
class Shipped:
    """What a zoo knows of a release that it made: its ``label``, NAME@VERSION, the manifest that its log has
    the digest of, and the evidence beside it (file name -> content)."""

    label: str = ""
    manifest: Manifest | None = None
    evidence: Mapping[str, bytes] = field(default_factory=dict)


def check_trust(
    run: Verification, trusted: tuple[Signatory, ...], deep: bool, known: Shipped | None = None
) -> Verification:
    """``run`` with what the signature of its files says. Without ``deep``, the digests of weights are those
    that the hub reports; a folder reports none, so that these are not checked.

    Raises:
        UnreadableError: a file cannot be read.
        MissingLibraryError: nothing here can check signatures.
    """
    checkpoint = run.subject.checkpoint
    if checkpoint is None:  # said already: the checks of the draft need it too
        return run
    subject, said = _judge(run.subject, checkpoint, trusted, deep, known or Shipped())
    report = run.report
    facts = {**report.subject, "signature": said}
    results = (*report.results, *rules.run(subject, Level.SIGNATURE))
    return Verification(replace(report, subject=facts, results=results), subject)


def _judge(
    subject: Subject, checkpoint: Checkpoint, trusted: tuple[Signatory, ...], deep: bool, known: Shipped
) -> tuple[Subject, str]:
    """The subject with the material of the P rules and their findings, and the signature in a few words."""
    if not trusted:
        return _without(subject, "signers", Absent(NO_KEY)), "not checked: no trusted key"
    if not checkpoint.listed:
        return _without(subject, "signers", Absent(NO_LIST)), "not checked: the server lists no files"
    subject = replace(subject, signers=tuple(each.name for each in trusted))
    raw = _read(checkpoint, manifests.SIGNATURE)
    if raw is None:
        found = _finding(
            "P001",
            "it is not there: this is not signed",
            manifests.SIGNATURE,
            "ask who released it for a signed version",
        )
        return _without(_with(subject, [found]), "signed", Absent("there is no signature")), "none"
    try:
        signed = signing.verify(raw, trusted)
    except signing.InvalidSignatureError as error:
        found = _finding("P001", f"the signature does not count: {error}", manifests.SIGNATURE, _CHANGED)
        return _without(
            _with(subject, [found]), "signed", Absent("the signature does not count")
        ), "not valid"
    files = _Files(subject, checkpoint, deep)
    findings = [*_altered(signed, checkpoint, files), *_documents(signed, checkpoint, known)]
    subject = replace(_with(subject, findings), signed=tuple(signed.files))
    if files.unread:
        reason = f"nobody has read {', '.join(map(quoted, sorted(files.unread)))}; add --deep"
        subject = replace(subject, unhashed=Absent(reason))
    reported = (
        f"; the sha256 of {', '.join(sorted(files.reported))} as reported by the hub"
        if files.reported
        else ""
    )
    return subject, f"{signed.name} by {signed.by}, {len(signed.files)} files{reported}"


def _altered(signed: Signed, checkpoint: Checkpoint, files: _Files) -> Iterator[Finding]:
    """P002: each signed file must be there with its sha256, and no other."""
    for path, sha256 in sorted(signed.files.items()):
        if path not in checkpoint.files:
            yield _finding("P002", "it was signed, and is missing", path, _CHANGED)
        elif (found := files.sha256(path)) not in ("", sha256):
            yield _finding(
                "P002", f"it has sha256 {found[:12]}…, and {sha256[:12]}… was signed", path, _CHANGED
            )
    if checkpoint.listed:
        for path in sorted(checkpoint.files.keys() - signed.files.keys() - {manifests.SIGNATURE, _HUBS_OWN}):
            hint = "do not use it; what belongs to the release is signed"
            yield _finding("P002", "it is here, and was not signed", path, hint)


def _documents(signed: Signed, checkpoint: Checkpoint, known: Shipped) -> Iterator[Finding]:
    """P003 to P005. A document that is not the signed one has a finding already, and is not read."""
    raw = _signed_text(signed, checkpoint, manifests.NAME)
    if raw is None:
        if manifests.NAME not in signed.files:
            yield _finding(
                "P003", "it was not signed", manifests.NAME, "release it with zoo release --sign-key"
            )
        return
    try:
        manifest = manifests.parse(raw, manifests.NAME)
    except TargetUnusableError as error:
        yield _finding("P003", error.message, manifests.NAME, error.hint)
        return
    yield from _manifest(signed, manifest, known)
    yield from _asked(checkpoint.source, manifest, known)
    if manifests.PROVENANCE not in manifest.files:
        hint = "release it with this version of zoo"
        yield _finding("P004", "the manifest lists no provenance", manifests.PROVENANCE, hint)
        return
    raw = _signed_text(signed, checkpoint, manifests.PROVENANCE)
    if raw is None:
        return
    try:
        statement = provenance.parse(raw)
    except ValueError as error:
        yield _finding(
            "P004", str(error), manifests.PROVENANCE, "release it again; provenance is never edited"
        )
        return
    for wrong in provenance.contradictions(statement, manifest):
        yield _finding("P004", wrong, manifests.PROVENANCE, "release it again; provenance is never edited")
    shipped = {
        path.removeprefix(_EVIDENCE): text
        for path in manifest.files
        if path.startswith(_EVIDENCE) and (text := _signed_text(signed, checkpoint, path)) is not None
    }
    yield from _evidence(statement["predicate"]["evidence"], manifest, {**known.evidence, **shipped})


def _manifest(signed: Signed, manifest: Manifest, known: Shipped) -> Iterator[Finding]:
    listed = {path: file.sha256 for path, file in manifest.files.items()}
    others = {path: sha256 for path, sha256 in signed.files.items() if path != manifests.NAME}
    if listed != others:
        first = min(path for path in listed.keys() | others if listed.get(path) != others.get(path))
        message = f"it does not say of {quoted(first)} what was signed"
        yield _finding("P003", message, manifests.NAME, "release it again with zoo release --sign-key")
    if signed.name != f"{manifest.name}@{manifest.version}":
        message = f"it is of {manifest.name}@{manifest.version}, and {quoted(signed.name)} was signed"
        yield _finding("P003", message, manifests.NAME, "release it again with zoo release --sign-key")
    if known.manifest is not None and known.manifest.raw != manifest.raw:
        message = "it is signed, but not the one that the log of this zoo says was published"
        yield _finding("P003", message, manifests.NAME, "compare it with release/ in the zoo's git")


def _asked(source: str, manifest: Manifest, known: Shipped) -> Iterator[Finding]:
    """P003: what was asked for by its address is what was signed. Otherwise whoever can write to the hub
    could serve any other release of this signer: an old one, or that of another draft."""
    hint = "do not use it: somebody moved the tag, or copied another release; ask who released it"
    found = f"{manifest.name}@{manifest.version}"
    if known.label not in ("", found):
        message = f"it is of {quoted(found)}, and {quoted(known.label)} was asked for"
        yield _finding("P003", message, manifests.NAME, hint)
    if not source.startswith("hf://"):  # a folder, or a server, has no name that a manifest states
        return
    repo, _, revision = source.removeprefix("hf://").partition("@")
    stated = manifest.document["repo"]
    if stated != repo:
        message = f"it is of the repository {quoted(stated)}, and this is {quoted(repo)}"
        yield _finding("P003", message, manifests.NAME, hint)
    version = revision.removeprefix("refs/tags/").removeprefix("v")
    if is_version(version) and version != manifest.version:
        message = f"it is of version {manifest.version}, and {quoted(revision)} was asked for"
        yield _finding("P003", message, manifests.NAME, hint)


def _evidence(
    listed: Mapping[str, Mapping[str, str]], manifest: Manifest, shipped: Mapping[str, bytes]
) -> Iterator[Finding]:
    """P005: what the release rests on is about these very files and, where it can be read, unchanged."""
    digest, hint = manifest.document["checkpoint_digest"], "record the check again for these files"
    for name, stated in sorted(listed.items()):
        if stated["checkpoint_digest"] != digest:
            yield _finding("P005", "it was made for another checkpoint", name, hint)
        if name in shipped and sha256_hex(shipped[name]) != stated["sha256"]:
            message = "it is not the record that the release rests on"
            yield _finding("P005", message, name, "restore it; a record of another run needs another name")
    for name, raw in sorted(shipped.items()):
        if name not in listed and _checkpoint_of(raw) != digest:
            yield _finding("P005", "it is not about the files of this release", name, hint)


def _checkpoint_of(raw: bytes) -> object:
    try:
        record = decode(raw)
    except MalformedJson:
        return None
    return record.get("checkpoint_digest") if isinstance(record, dict) else None


class _Files:
    """The sha256 of the files of a checkpoint: from the pass over every byte, from reading, or as reported.
    ``reported`` and ``unread`` name the weights that nobody has read here."""

    def __init__(self, subject: Subject, checkpoint: Checkpoint, deep: bool) -> None:
        self._checkpoint = checkpoint
        self._scanned = {} if subject.scan is None else subject.scan.files
        self._deep = deep
        self._weights = {file.name for file in checkpoint.weights}
        self.reported: set[str] = set()
        self.unread: set[str] = set()

    def sha256(self, path: str) -> str:
        """In hex; "" where it is not known."""
        if path in self._scanned:
            return self._scanned[path].sha256
        large = path in self._weights or self._checkpoint.files[path] > SIZE_LIMIT
        if self._deep or not large:
            return _sha256(self._checkpoint, path)
        if path in self._checkpoint.reported_sha256:
            self.reported.add(path)
            return self._checkpoint.reported_sha256[path]
        self.unread.add(path)
        return ""


def _signed_text(signed: Signed, checkpoint: Checkpoint, path: str) -> bytes | None:
    """The content of a small signed file, or None if it is not there as it was signed (P002 says so)."""
    raw = _read(checkpoint, path)
    return raw if raw is not None and sha256_hex(raw) == signed.files.get(path) else None


def _read(checkpoint: Checkpoint, path: str) -> bytes | None:
    """The content of a small file, or None if it is not there."""
    if path not in checkpoint.files:
        return None
    try:
        opener = checkpoint.opener
        with open_regular(checkpoint.root / path) if opener is None else opener(path) as file:
            raw = read_up_to(file, SIZE_LIMIT + 1)
    except OSError as error:
        raise UnreadableError(
            f"{quoted(path)} of {quoted(checkpoint.source)} cannot be read ({error.strerror})",
            hint="check the permissions of the file, or the connection",
        ) from error
    return raw if len(raw) <= SIZE_LIMIT else b""


def _sha256(checkpoint: Checkpoint, path: str) -> str:
    digest = hashlib.sha256()
    opener = checkpoint.opener
    with open_regular(checkpoint.root / path) if opener is None else opener(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _with(subject: Subject, findings: list[Finding]) -> Subject:
    return replace(subject, reported=subject.reported + tuple(findings))


def _without(subject: Subject, material: str, absent: Absent) -> Subject:
    return replace(subject, missing={**subject.missing, material: absent})


def _finding(code: str, message: str, path: str, hint: str) -> Finding:
    return Finding(f"{quoted(path)}: {message}", hint, Where(path), code=code)
