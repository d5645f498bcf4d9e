"""P: what the signature of a release proves. The checks are made by ``zoo.trust.verify``, for
``zoo verify --signature``; a verification without it asks none of them."""

from __future__ import annotations

from zoo.rules.registry import Level, reported


@reported("P001", "not-signed", level=Level.SIGNATURE, needs=("checkpoint", "signers"))
def not_signed() -> None:
    """Nobody who is trusted has signed the files.

    What it does: Reads model.sig, a Sigstore bundle of OpenSSF model signing, and checks it with each key
    that --key or the settings of the zoo name. Its form is strict: no field can be changed unseen.
    Why is this bad: Whoever could write to the repository, or to the server, could have put any weights
    there.
    Example: A repository without model.sig, or with one that another key has made
    Use instead: A version that was released with zoo release --sign-key, and the public key of its author
    Sources: github.com/sigstore/model-transparency (the model signing specification 1.0);
    github.com/secure-systems-lab/dsse
    Since: 0.1.0
    """


@reported(
    "P002", "not-the-signed-file", level=Level.SIGNATURE, needs=("checkpoint", "signers", "signed_bytes")
)
def not_the_signed_file() -> None:
    """A file is not the one that was signed, is missing, or was not signed.

    What it does: Compares the sha256 of every file with the signed one. Without --deep, that of weights is
    what the hub reports; a folder reports none, and its weights are not checked.
    Why is this bad: The weights, the config or the card are not those that the signer stands behind.
    Example: config.json with another mask token than in the signed release
    Use instead: The files as they were published; a released version never changes
    Since: 0.1.0
    """


@reported(
    "P003", "manifest-contradicts-signature", level=Level.SIGNATURE, needs=("checkpoint", "signers", "signed")
)
def manifest_contradicts_signature() -> None:
    """The manifest does not say what was signed, or is that of another release than the one asked for.

    What it does: Reads manifest.json, one of the signed files, and compares its list, its name and its
    version with the signature and, for NAME@VERSION, the whole with the log of the zoo. For hf:// its
    repository must be the one addressed and, where the revision is a version (v1.0.0), its version that one.
    A folder or a web server has no name to compare.
    Why is this bad: Two lists of one release: which files it has would depend on who is asked. And a good
    signature over other files: who can write to the hub would serve an old version under a new tag.
    Example: hf://owner/name@v1.1.0 that holds the signed files of 1.0.0
    Use instead: The release that was asked for, as zoo release --sign-key has published it
    Since: 0.1.0
    """


@reported(
    "P004",
    "provenance-contradicts-manifest",
    level=Level.SIGNATURE,
    needs=("checkpoint", "signers", "signed"),
)
def provenance_contradicts_manifest() -> None:
    """The provenance is not that of this release.

    What it does: Reads provenance.intoto.jsonl and compares name, version, target and digests with the
    manifest; the files of its subject must have the manifest's checkpoint digest.
    Why is this bad: Commit, engines and training would be those of another draft.
    Example: A provenance that was copied from the version before
    Use instead: zoo release, which writes it
    Sources: github.com/in-toto/attestation, spec/v1/statement.md
    Since: 0.1.0
    """


@reported(
    "P005", "evidence-of-another-checkpoint", level=Level.SIGNATURE, needs=("checkpoint", "signers", "signed")
)
def evidence_of_another_checkpoint() -> None:
    """Evidence is not about the files of this release.

    What it does: Compares the checkpoint digest of every record that the provenance names with the
    manifest's and, where the record can be read, its sha256: in evidence/ of the source or, for NAME@VERSION,
    of the zoo.
    Why is this bad: The numbers of the card would have been measured with other weights.
    Example: A replay record that was written again, for other weights, after the release
    Use instead: The records as they were when the version was released
    Since: 0.1.0
    """
