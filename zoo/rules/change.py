"""V: what a pull request must not do to a zoo, and what a reviewer must see; K001, the committed card. The
checks are made by ``zoo.ci``, for ``zoo ci``; ``zoo verify`` knows no base and asks none of them."""

from __future__ import annotations

from zoo.results import Severity
from zoo.rules.registry import Level, reported

_NEEDS = ("change",)


@reported("K001", "card-differs", level=Level.CHANGE, needs=_NEEDS)
def card_differs() -> None:
    """The committed card is not the one that recipe, evidence and template give.

    What it does: Renders release/NAME/VERSION/README.md as zoo card --check does, and compares every byte.
    The card of a published version is compared with the one that was published.
    Why is this bad: Whoever downloads the draft reads the card, and it says something else than what was
    checked.
    Example: A number that was edited in README.md, or another block_size in the recipe and the old card
    Use instead: zoo card NAME, and commit what it writes
    Since: 0.1.0
    """


@reported("V001", "released-draft-changed", level=Level.CHANGE, needs=_NEEDS)
def released_draft_changed() -> None:
    """The weights, the config or the target of a version that was published are others now.

    What it does: Where release/NAME/log.jsonl says that the recipe's version was published, compares draft,
    checkpoint and target of the recipe with the base's, and the sha256 of every file of the source that is
    known without reading weights with the manifest's. Texts of the recipe may change (V019). A version that
    was published since the change left its base is compared with nothing: the change must have it first.
    Why is this bad: Two drafts with one version: nobody can say which one a number was measured with.
    Example: checkpoint.source: hf://owner/name@v1.1.0 in a recipe with version: 1.0.0
    Use instead: version: 1.1.0, with its own card
    Since: 0.1.0
    """


@reported("V002", "version-goes-back", level=Level.CHANGE, needs=_NEEDS)
def version_goes_back() -> None:
    """The recipe's version is lower than one that is there already.

    What it does: Compares the version with the base's, and with the published ones (semver.org, rule 11).
    Why is this bad: The highest version is the one that people take.
    Example: version: 0.9.0 after 1.0.0 was published
    Use instead: A version above all others
    Since: 0.1.0
    """


@reported("V003", "released-file-changed", level=Level.CHANGE, needs=_NEEDS)
def released_file_changed() -> None:
    """A file of a published version was changed, removed or added.

    What it does: Looks at every file of the change below release/NAME/VERSION/, where the log at the base
    says that VERSION was published. Only new records of evidence may be added, and signatures beside them.
    Why is this bad: The folder is the record of what was published, and that does not change with it.
    Example: Another accept length in release/tiny-ft/1.0.0/evidence/replay-held-out.json
    Use instead: A new version; for the card alone: zoo card NAME --push
    Since: 0.1.0
    """


@reported("V004", "log-rewritten", level=Level.CHANGE, needs=_NEEDS)
def log_rewritten() -> None:
    """The log of releases lost a line, or a line of it was changed.

    What it does: release/NAME/log.jsonl must begin with all that the base has, byte for byte.
    Why is this bad: The log says what was published and what was withdrawn. It is the only witness.
    Example: A yanked line that was removed
    Use instead: New lines at the end, as zoo release, zoo yank and zoo promote write them
    Since: 0.1.0
    """


@reported("V005", "tag-moved", level=Level.CHANGE, needs=_NEEDS)
def tag_moved() -> None:
    """A published version is said to be at another commit, or to be other files, than before.

    What it does: Compares the commit (ref) and the manifest's digest of every publication in the log with the
    base's, and with an earlier one of the same version at the same place. Asks the Hub, or the endpoint that
    was typed, where the tag of the recipe's version is now.
    Why is this bad: A tag never moves: whoever pinned it gets other weights.
    Example: "ref": another commit in the line that says that 1.0.0 was published
    Use instead: The commit as it was published; a new version for other files
    Since: 0.1.0
    """


@reported("V006", "release-record-contradictory", level=Level.CHANGE, needs=_NEEDS)
def release_record_contradictory() -> None:
    """The record of a release contradicts itself, or cannot be read.

    What it does: Reads log, manifest and texts of every published version that the change touches: the log
    has the digest of the manifest, and the manifest those of card, notes, provenance and plots.
    Why is this bad: The record proves nothing about what was published.
    Example: A line in log.jsonl for a version without a manifest
    Use instead: The files as zoo release writes them
    Since: 0.1.0
    """


@reported("V007", "evidence-does-not-count", level=Level.CHANGE, needs=_NEEDS)
def evidence_does_not_count() -> None:
    """A record of evidence comes in that does not count for this draft.

    What it does: Compares checkpoint digest and basis digest of every record that the change adds or edits
    with the recipe, its profiles and, where its files can be read, their digest.
    Why is this bad: The numbers were measured with other weights, another config or another engine.
    Example: The replay record of the version before, copied to a version with other weights
    Use instead: A record of this very draft: zoo replay NAME --write, zoo smoke NAME --write
    Since: 0.1.0
    """


@reported("V008", "evidence-outdated", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def evidence_outdated() -> None:
    """A record that was there does not count for what the recipe says now.

    What it does: The same comparison, for records that the change leaves alone.
    Why is this bad: A gate that had passed is open again; a release needs it once more.
    Example: Another block_size, and the smoke record of the old one
    Use instead: Record the check again before the release
    Since: 0.1.0
    """


@reported("V009", "evidence-unsigned", severity=Severity.NOTE, level=Level.CHANGE, needs=_NEEDS)
def evidence_unsigned() -> None:
    """A record of evidence comes in that nobody has signed.

    What it does: Names every such record, where the settings at the base name no signers.
    Why is this bad: It is the author's word, and the card says so.
    Example: evidence/replay-held-out.json without a .sig beside it
    Use instead: zoo sign, and [tool.zoo.trust] signers
    Since: 0.1.0
    """


@reported("V010", "evidence-not-by-a-signer", level=Level.CHANGE, needs=_NEEDS)
def evidence_not_by_a_signer() -> None:
    """A record of evidence comes in that none of the zoo's signers has signed.

    What it does: Checks the signature of every record that the change adds or edits with the keys that the
    settings at the base name. Keys and signers that the change brings itself do not count.
    Why is this bad: A zoo with signers counts nobody else's word.
    Example: A record with a signature by a key that the same pull request adds
    Use instead: A record that a trusted job made and signed (docs/trust.md)
    Since: 0.1.0
    """


@reported("V011", "settings-changed", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def settings_changed() -> None:
    """The change edits what the zoo trusts: settings, keys of signers, what runs this gate, code owners.

    What it does: Compares every setting, the files of the keys, the workflows of GitHub and CODEOWNERS with
    the base; the last two at the top of the repository, where GitHub reads them, also if the zoo is a folder
    in it. The change itself is judged by the settings of the base.
    Why is this bad: It may be right; but after the merge other servers are contacted and other people are
    believed.
    Example: endpoints = ["https://hub.example.com"]
    Use instead: A pull request of its own, reviewed by those who own the zoo
    Since: 0.1.0
    """


@reported("V012", "waiver-added", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def waiver_added() -> None:
    """A recipe gets a waiver, or a waiver gets another reason or a later date.

    What it does: Compares the waivers with the base's.
    Why is this bad: It may be right; but from then on a finding is a note, and nothing stops at it.
    Example: waivers: [{code: E012, reason: "measured, no loss", until: 2027-03-01}]
    Use instead: Mend what the rule finds
    Since: 0.1.0
    """


@reported("V013", "link-in-the-change", level=Level.CHANGE, needs=_NEEDS)
def link_in_the_change() -> None:
    """The change puts a link or a submodule among the files of the zoo.

    What it does: Looks at the kind of every changed file below recipes/, templates/ and release/, of those
    that a recipe names (its checkpoint), of the settings and of the signers' keys. A linked folder is one.
    Why is this bad: Where a link leads is not in the pull request, and may be anything on the machine that
    reads it.
    Example: release/tiny-ft/1.0.0/README.md -> /etc/passwd
    Use instead: The file itself
    Since: 0.1.0
    """


@reported("V015", "secret-in-the-change", level=Level.CHANGE, needs=_NEEDS)
def secret_in_the_change() -> None:
    """A file of the change holds a credential.

    What it does: Looks in the first 4 MiB of every file that the change adds or edits, wherever it lies, for
    tokens of Hugging Face and GitHub, access keys of AWS, and private keys. What it finds is never shown:
    every output has "(a secret)" in its place.
    Why is this bad: Whoever can read the pull request can use it, and git keeps it after it is removed.
    Example: token: hf_... in recipes/tiny-ft.yaml
    Use instead: A variable of the environment; and revoke what was committed
    Sources: huggingface.co/docs/hub/security-tokens; RFC 7468
    Since: 0.1.0
    """


@reported("V016", "gate-unanswered", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def gate_unanswered() -> None:
    """The recipe asks for a gate, and no evidence of these weights answers it.

    What it does: Looks for a record of gates.replay and gates.smoke that counts: of this checkpoint, by a
    signer where the zoo has signers, with the settings that the recipe asks for. Of every draft that the
    change touches, unless its version is published. Where the digest of the checkpoint is not known and a
    record passed, it is not checked. A gate that has failed is T001 or S001.
    Why is this bad: Nobody has seen this draft serve as it was trained to. A release is refused, but a merge
    is not, and who reads main may take it for one that was measured.
    Example: New weights under a new version, and gates: {smoke: {tier: standard}} without a record
    Use instead: zoo smoke NAME --write, zoo replay NAME --write, or the job that measures; severity =
    {V016 = "error"} in the settings lets nobody merge without
    Since: 0.1.0
    """


@reported("V014", "hostile-path", level=Level.CHANGE, needs=_NEEDS)
def hostile_path() -> None:
    """The change adds a file whose name not every system can keep or show.

    What it does: Refuses names that differ from another one only in case or Unicode form, that Windows
    reserves (con.yaml, a dot or a space at the end, : or a backslash), or that hold characters which do not
    print.
    Why is this bad: One of two such files is lost in a clone, or a reviewer reads another name than git has.
    Example: recipes/Tiny-ft.yaml beside recipes/tiny-ft.yaml
    Use instead: Small letters, digits, dot, dash and underscore
    Sources: learn.microsoft.com/windows/win32/fileio/naming-a-file; trojansource.codes
    Since: 0.1.0
    """


@reported("V017", "repository-shared", level=Level.CHANGE, needs=_NEEDS)
def repository_shared() -> None:
    """Two recipes have the same repository.

    What it does: Compares the repo of every recipe that the change adds or edits, itself or through extends,
    with those of all others. The recipe of a draft that is renamed is not there twice.
    Why is this bad: Both release to one place, under tags of the version alone: the second release of a
    version overwrites the first one, or is refused when everything else is done.
    Example: repo: acme/tiny-ft in recipes/tiny-ft.yaml and in recipes/tiny-next.yaml
    Use instead: A repository for each draft; or one recipe, with a new version
    Since: 0.1.0
    """


@reported("V018", "published-recipe-removed", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def published_recipe_removed() -> None:
    """A recipe of which versions were published is removed or renamed.

    What it does: Looks, for every recipe that the change removes, whether the log at the base has published
    versions of it, and names the recipe that has its repository now.
    Why is this bad: It may be right; but zoo outdated, zoo pull and zoo yank know a draft by its name, and a
    renamed one begins a log of its own, which does not know what was published.
    Example: recipes/tiny-ft.yaml renamed to recipes/tiny-fine-tuned.yaml
    Use instead: The recipe where it was; zoo yank for what nobody should take
    Since: 0.1.0
    """


@reported("V019", "frozen-text", severity=Severity.NOTE, level=Level.CHANGE, needs=_NEEDS)
def frozen_text() -> None:
    """What a recipe says of a published version was changed, and no card will say so.

    What it does: Renders the card with the recipe of the base and with that of the change, where the log at
    the base says that the version was published. If they differ, the edit is one that the card cannot follow.
    Why is this bad: The card of a published version is frozen, so that readers keep the old text.
    Example: title: A better draft in a recipe with version: 1.0.0, which is published
    Use instead: A new version with the new text
    Since: 0.1.0
    """


@reported("V020", "rewritten-by-attributes", level=Level.CHANGE, needs=_NEEDS)
def rewritten_by_attributes() -> None:
    """A .gitattributes makes a checkout hold other bytes than the commit.

    What it does: Asks git for the attributes ident, working-tree-encoding and eol of every file of the zoo.
    Why is this bad: The gate reads a checkout, and what is merged is the commit: weights, cards and profiles
    could be others than those that were judged.
    Example: *.safetensors ident
    Use instead: No such attribute (text=auto, eol=lf and Git LFS are no matter)
    Sources: https://git-scm.com/docs/gitattributes
    Since: 0.1.0
    """


@reported("V021", "evidence-removed", severity=Severity.WARNING, level=Level.CHANGE, needs=_NEEDS)
def evidence_removed() -> None:
    """The change takes a record of evidence away.

    What it does: Names each record of the recipe's version that the base has and the change has not.
    Why is this bad: A failing record that is gone is a check that looks as if it had never run.
    Example: release/mine/0.2.0/evidence/smoke-sglang.json is deleted
    Use instead: A new record of the same check, which replaces it, or a new version
    Since: 0.1.0
    """
