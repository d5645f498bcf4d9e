"""What lets a stranger tell who released what, and from what: the provenance, which the manifest lists, and
the signature over all of it."""

from __future__ import annotations

from zoo.errors import ReleaseRefusedError, TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release.context import Done, Release, Skip, skip
from zoo.release.manifest import NAME, SIGNATURE
from zoo.release.paths import read


def provenance_of(release: Release) -> bytes:
    """The provenance of this release, as it is known before the manifest is written."""
    from zoo.trust import provenance
    from zoo.trust.git import commit_of

    plan, subject = release.plan, release.verification.subject
    try:
        return provenance.build(
            plan.zoo,
            plan.recipe,
            release.declared.values(),
            release.evidence,
            subject.training,
            commit_of(plan.zoo),
        )
    except OSError as error:
        raise UnreadableError(
            f"{quoted(str(error.filename))} is gone since it was read ({error.strerror})",
            hint="wait until whatever writes it has finished, then run the command again",
        ) from error


def sign(release: Release) -> Done | Skip:
    """The signature over every file of the release, the manifest included. No file is hashed again: the
    digests are those of the manifest. A version that is published keeps the signature that it has, or has
    not."""
    from zoo.trust.keyless import Keyless
    from zoo.trust.signing import sign

    key, manifest = release.plan.sign_key, release.manifest
    if release.published is not None:
        return _keep(release)
    if key is None:
        release.signature = _recorded(release)
        return skip("released before, signed" if release.signature else "not asked for (--sign-key)")
    if isinstance(key, Keyless):  # each signature is another one, and stays in a public log
        release.signature = _recorded(release)
        if release.signature or not release.plan.push:
            return skip("released before, signed" if release.signature else "keyless: only --push signs")
    files = {path: file.sha256 for path, file in manifest.files.items()} | {NAME: manifest.sha256}
    release.signature = sign(f"{manifest.name}@{manifest.version}", files, key, ignored=(SIGNATURE,))
    by = "the identity that Sigstore states" if isinstance(key, Keyless) else quoted(key.path.name)
    return Done(f"{len(files)} files, by {by}")


def _keep(release: Release) -> Skip:
    from zoo.trust.keys import SigningKey
    from zoo.trust.signing import is_by

    assert release.published is not None
    key = release.plan.sign_key
    try:
        release.signature = release.plan.target.fetch(release.published.ref, SIGNATURE)
    except (TargetUnusableError, ReleaseRefusedError):
        release.signature = None
    if release.signature and isinstance(key, SigningKey) and not is_by(release.signature, key):
        other = f"by another key or certificate than {quoted(key.path.name)}"
        return skip(f"published already, signed {other}; it keeps that signature")
    if release.signature is None and key is not None:
        recipe = release.plan.recipe
        release.refuse(
            ReleaseRefusedError(
                f"{recipe.name} {recipe.version} is published already, without a signature",
                hint=f"a released version never changes: raise version: in {recipe.file} and sign that",
            )
        )
    return skip("published already, signed" if release.signature else "published already, not signed")


def _recorded(release: Release) -> bytes | None:
    """The signature that this very release got at another target."""
    plan, manifest = release.plan, release.manifest
    known = {entry.manifest_sha256 for entry in release.entries if entry.version == manifest.version}
    if manifest.sha256 not in known:
        return None
    return read(plan.zoo, plan.zoo.release_folder(manifest.name, manifest.version) / SIGNATURE)
