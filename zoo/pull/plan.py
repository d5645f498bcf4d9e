"""What a pull downloads: which files, and what they must be. Nothing is downloaded here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zoo.checkpoint.folder import CONFIG_NAME
from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint
from zoo.digests import canonical_json, sha256_hex
from zoo.errors import UnreadableError
from zoo.printable import printable, quoted
from zoo.pull.place import Release, refuse_other
from zoo.release import manifest as manifests
from zoo.release.paths import can_run

# What an engine or its tokenizer reads of a draft, beside the weights.
_SMALL = (
    CONFIG_NAME,
    INDEX_NAME,
    "generation_config.json",
    "hf_quant_config.json",
    *"tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.json".split(),
    *"vocab.txt merges.txt tokenizer.model tiktoken.model chat_template.jinja chat_template.json".split(),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to download: ``size`` in bytes and, where somebody states it, the ``sha256`` that it must have.
    ``stated_by``: "the manifest", "the hub" or ""."""

    path: str
    size: int
    sha256: str | None
    stated_by: str


@dataclass(frozen=True)
class Plan:
    """A download from ``checkpoint``, which is open. ``label`` is what the user named; ``texts`` are small
    files that are here already; ``left_out`` are files of the source that are not wanted."""

    label: str
    checkpoint: Checkpoint
    files: tuple[Wanted, ...]
    texts: Mapping[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def key(self) -> str:
        """Equal for two downloads of the same: source, commit, files and what is stated of them."""
        listed = [[file.path, file.size, file.sha256] for file in self.files]
        return sha256_hex(canonical_json([self.checkpoint.source, self.checkpoint.revision, listed]))


def plan_release(release: Release, checkpoint: Checkpoint) -> Plan:
    """All files of the manifest, which says what each must be, and the manifest itself.

    Raises:
        ReleaseRefusedError: the place does not have the files of the manifest.
        UnreadableError: one of them is code.
    """
    for path in release.manifest.files:
        if can_run(path):
            raise UnreadableError(
                f"{release.label} lists {quoted(path)}, which can run code; it is not downloaded",
                hint="release weights as safetensors, and no code",
            )
    refuse_other(release, checkpoint, checkpoint.reported_sha256)
    files = [
        Wanted(path, file.size, file.sha256, "the manifest")
        for path, file in sorted(release.manifest.files.items())
    ]
    if (size := checkpoint.files.get(manifests.SIGNATURE)) is not None:
        files.append(Wanted(manifests.SIGNATURE, size, None, ""))  # it proves itself: zoo verify --signature
    texts = {manifests.NAME: release.manifest.raw}
    left = sorted(checkpoint.files.keys() - release.manifest.files.keys() - set(manifests.UNLISTED))
    return Plan(release.label, checkpoint, tuple(files), texts, tuple(left))


def plan_source(checkpoint: Checkpoint) -> Plan:
    """What an engine reads of a source: config, weights, index and tokenizer files, and nothing else.

    Raises:
        UnreadableError: it has no weights, or some that cannot be understood.
    """
    if not checkpoint.weights or any(file.header is None for file in checkpoint.weights):
        first = next((each for each in checkpoint.findings if each.code.startswith("F")), None)
        fact = printable(first.message, keep="", limit=200) if first else "its weights cannot be understood"
        raise UnreadableError(
            f"{quoted(checkpoint.source)} is not worth a download: {fact}",
            hint=f"see: zoo verify {printable(checkpoint.source, keep='')}",
        )
    wanted = {file.name for file in checkpoint.weights} | {
        name for name in _SMALL if name in checkpoint.files
    }
    files = []
    for path in sorted(wanted):
        stated = checkpoint.reported_sha256.get(path)
        files.append(Wanted(path, checkpoint.files[path], stated, "the hub" if stated else ""))
    left = sorted(checkpoint.files.keys() - wanted)
    return Plan(checkpoint.source, checkpoint, tuple(files), left_out=tuple(left))
