"""What lets a stranger tell who released what, and from what: the provenance, which the manifest lists, and
the signature over all of it."""

from __future__ import annotations

from zoo.errors import ReleaseRefusedError, UnreadableError, UsageError
from zoo.printable import quoted
from zoo.release.context import Done, Release, Skip, skip
from zoo.release.manifest import NAME, SIGNATURE, Manifest
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
    digests are those of the manifest. A version that is published, here or at another target, keeps the
    signature that it has, or has not."""
    from zoo.trust.keyless import Keyless
    from zoo.trust.signing import sign

    key, manifest = release.plan.sign_key, release.manifest
    if release.published is not None:
        return _keep(release)
    release.signature = _recorded(release)
    if release.signature is not None and (other := other_signer(release, release.signature)):
        return skip(f"released before, signed by {other}; it keeps that signature")
    if key is None:
        return skip("released before, signed" if release.signature else _unsigned(release))
    if isinstance(key, Keyless) and not release.plan.push:  # a signature stays in a public log
        return skip("keyless: only --push signs")
    files = _files(manifest)
    release.signature = sign(f"{manifest.name}@{manifest.version}", files, key, ignored=(SIGNATURE,))
    by = "the identity that Sigstore states" if isinstance(key, Keyless) else quoted(key.path.name)
    return Done(f"{len(files)} files, by {by}")


def _unsigned(release: Release) -> str:
    """That nobody signs this version, in words; refused where the zoo has signers and nobody asked for it,
    because no signature can be added to a version later."""
    plan = release.plan
    if not plan.zoo.signers:
        return "not asked for (--sign-key)"
    if plan.unsigned:
        return "not asked for (--unsigned), and this zoo has signers"
    if _is_recorded(release):
        return "released before, not signed"
    release.refuse(
        UsageError(
            f"{plan.recipe.name} {plan.recipe.version} would be published without a signature, for ever, and "
            "this zoo has signers",
            hint="sign it: --sign-key FILE; or say that nobody shall: --unsigned",
        )
    )
    return "not signed, and this zoo has signers (--sign-key FILE, or --unsigned)"


def _keep(release: Release) -> Skip:
    assert release.published is not None
    try:
        release.signature = release.plan.target.fetch(release.published.ref, SIGNATURE)
    except ReleaseRefusedError:  # it is not there; trouble on the way says nothing of it
        release.signature = None
    if release.signature and (other := other_signer(release, release.signature)):
        return skip(f"published already, signed by {other}; it keeps that signature")
    if release.signature is None and release.plan.sign_key is not None:
        recipe = release.plan.recipe
        release.refuse(
            ReleaseRefusedError(
                f"{recipe.name} {recipe.version} is published already, without a signature",
                hint=f"a released version never changes: raise version: in {recipe.file} and sign that",
            )
        )
    return skip("published already, signed" if release.signature else "published already, not signed")


def other_signer(release: Release, raw: bytes) -> str:
    """Who made the signature ``raw``, in words, if it is not the key that this run was given: a signer of the
    zoo, if it is valid as theirs, or else whom it names. "" if it is that key, or none was given."""
    from zoo.trust import signing
    from zoo.trust.keys import SigningKey, Trusted
    from zoo.trust.policy import signers_of

    key = release.plan.sign_key
    if key is None or (isinstance(key, SigningKey) and signing.is_by(raw, key)):
        return ""
    than = f" (another than {quoted(key.path.name)})" if isinstance(key, SigningKey) else ""
    # An identity could only be asked for at Sigstore.
    signers = [each for each in signers_of(release.plan.zoo) if isinstance(each, Trusted)]
    try:
        signed = signing.verify(raw, signers)
        if dict(signed.files) == _files(release.manifest):
            return f"{quoted(signed.by)}, a signer of this zoo{than}"
        return f"nobody: {quoted(signed.by)} signed other files"
    except signing.InvalidSignatureError:
        pass
    try:
        return f"{signing.made_by(raw)}{than}"
    except signing.InvalidSignatureError as error:
        return f"nobody: {error}"


def _files(manifest: Manifest) -> dict[str, str]:
    """What a signature of a release covers: path -> sha256."""
    return {path: file.sha256 for path, file in manifest.files.items()} | {NAME: manifest.sha256}


def _recorded(release: Release) -> bytes | None:
    """The signature that this very release got at another target."""
    plan, manifest = release.plan, release.manifest
    if not _is_recorded(release):
        return None
    return read(plan.zoo, plan.zoo.release_folder(manifest.name, manifest.version) / SIGNATURE)


def _is_recorded(release: Release) -> bool:
    """Whether this very release was published at another target."""
    manifest = release.manifest
    known = {entry.manifest_sha256 for entry in release.entries if entry.version == manifest.version}
    return manifest.sha256 in known
