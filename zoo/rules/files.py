"""Rules about the files of a checkpoint (F0) and whether config.json can be read (C001 to C004).

``zoo.checkpoint`` finds what needs no recipe, and this module documents it; what the recipe decides is
checked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.jsonfile import pointer
from zoo.drafts.keys import DIFFUSION
from zoo.release.paths import is_plot
from zoo.results import Finding, Severity, Where
from zoo.rules.hostile import CODE_SUFFIXES
from zoo.rules.registry import reported, rule

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.recipe.model import Recipe
    from zoo.rules.subject import Subject


@reported("C001", "config-missing")
def config_missing() -> None:
    """The folder has no config.json.

    What it does: Looks for config.json in the folder itself.
    Why is this bad: Engines cannot build the draft without it.
    Example: A folder with model.safetensors only.
    Use instead: The config.json that the draft was trained with.
    Since: 0.1.0
    """


@reported("C002", "config-unreadable")
def config_unreadable() -> None:
    """config.json is not a JSON object.

    What it does: Reads it strictly: UTF-8 without byte order mark, one object, at most 4 MiB and 64 levels,
    numbers of 64 bits.
    Why is this bad: Engines fail, or some do and others do not.
    Example: A trailing comma, or a Git LFS pointer in its place.
    Use instead: The file as json.dump writes it.
    Since: 0.1.0
    """


@reported("C003", "config-duplicate-key")
def config_duplicate_key() -> None:
    """A key of config.json occurs twice in one object.

    What it does: Looks for repeated keys at every level.
    Why is this bad: Python takes the last, other readers the first, and a reviewer whichever line is read:
    the draft is not the one that was looked at.
    Example: "block_size": 8 and, further down, "block_size": 16
    Use instead: Each key once.
    Since: 0.1.0
    """


@reported("C004", "config-not-finite")
def config_not_finite() -> None:
    """A number in config.json is NaN or infinite.

    What it does: Refuses NaN, Infinity and numbers that overflow.
    Why is this bad: JSON has no such numbers: Python writes and reads them, other readers fail, and no engine
    computes with them.
    Example: "rope_theta": Infinity
    Use instead: A finite number, or null.
    Since: 0.1.0
    """


@reported("F001", "no-weights")
def no_weights() -> None:
    """The folder has no *.safetensors file.

    What it does: Looks for *.safetensors in the folder itself, as engines do.
    Why is this bad: There is nothing to verify. Engines fall back to pickles, or fail.
    Example: Only pytorch_model.bin, or weights in a folder below.
    Use instead: The export as safetensors, beside config.json.
    Since: 0.1.0
    """


@reported("F005", "broken-link")
def broken_link() -> None:
    """A link leads to a file that does not exist.

    What it does: Resolves each link of the folder.
    Why is this bad: The file is missing although it is listed. In a Hugging Face cache the blob was deleted,
    or its download stopped.
    Example: model.safetensors -> ../../blobs/0f3a..., which is gone.
    Use instead: The file: fetch the repository again.
    Since: 0.1.0
    """


@reported("F006", "unreadable-file")
def unreadable_file() -> None:
    """A file or folder cannot be read.

    What it does: Opens headers, the index and folders.
    Why is this bad: Nothing can be said about what it holds.
    Example: A file that belongs to root, with mode 600.
    Use instead: Read permission for the user who verifies.
    Since: 0.1.0
    """


@reported("F010", "lfs-pointer")
def lfs_pointer() -> None:
    """A weights file is a Git LFS pointer.

    What it does: Recognises the text that stands for a large file in a git repository.
    Why is this bad: The clone was made without Git LFS: the weights are not here.
    Example: version https://git-lfs.github.com/spec/v1
    Use instead: git lfs pull, or hf download OWNER/NAME --local-dir FOLDER.
    Sources: git-lfs docs/spec.md.
    Since: 0.1.0
    """


@reported("F011", "html-page")
def html_page() -> None:
    """A weights file is an HTML or XML page.

    What it does: Recognises how such pages start.
    Why is this bad: A login or error page was saved under the name of the file.
    Example: curl -o model.safetensors without a token, for a gated repository.
    Use instead: hf download, which checks the answer.
    Since: 0.1.0
    """


@reported("F012", "pickle")
def pickle() -> None:
    """A weights file is a pickle or a zip archive of torch.save.

    What it does: Recognises both by their first bytes, without unpacking anything.
    Why is this bad: Loading a pickle runs code of whoever wrote it.
    Example: pytorch_model.bin, renamed to model.safetensors.
    Use instead: safetensors.torch.save_file, where the draft was trained.
    Sources: Python documentation of pickle, warning at the top.
    Since: 0.1.0
    """


@reported("F013", "gguf")
def gguf() -> None:
    """A weights file is a GGUF file.

    What it does: Recognises the magic of the format.
    Why is this bad: It is of another engine (llama.cpp), and often quantized.
    Example: draft-q8_0.gguf, renamed to model.safetensors.
    Use instead: The safetensors checkpoint that it was converted from.
    Since: 0.1.0
    """


@reported("F014", "json-instead")
def json_instead() -> None:
    """A weights file is a JSON text.

    What it does: Recognises a printable text that starts with a brace or bracket.
    Why is this bad: The error answer of a server was saved under the name of the file.
    Example: {"error":"Repository not found"}
    Use instead: hf download, which checks the answer.
    Since: 0.1.0
    """


@reported("F015", "gzip-instead")
def gzip_instead() -> None:
    """A weights file is compressed with gzip.

    What it does: Recognises the magic of the format.
    Why is this bad: A proxy or an archive compressed it; no engine unpacks it.
    Example: curl without --compressed, from a server that compresses.
    Use instead: The file itself.
    Since: 0.1.0
    """


@reported("F016", "empty-file")
def empty_file() -> None:
    """A weights file is empty.

    What it does: Looks at its size.
    Why is this bad: The write or the download stopped before its first byte.
    Example: A file of 0 bytes after the disk was full.
    Use instead: The file: fetch it again.
    Since: 0.1.0
    """


@reported("F017", "zero-bytes")
def zero_bytes() -> None:
    """A weights file starts with zero bytes only.

    What it does: Looks at the first 512 bytes.
    Why is this bad: Downloaders reserve the space of a file before they fill it: this one was never filled.
    Example: A sparse file of the right size.
    Use instead: The file: fetch it again and compare its sha256.
    Since: 0.1.0
    """


@reported("F018", "text-instead")
def text_instead() -> None:
    """A weights file is a plain text.

    What it does: Recognises that all of the first bytes print.
    Why is this bad: The answer of a server or a placeholder was saved under the name of the file.
    Example: Entry not found
    Use instead: hf download, which checks the answer.
    Since: 0.1.0
    """


# What engines and tools load as weights. SGLang and vLLM fall back to *.bin and *.pt, and SGLang 0.5.23
# merges a mask_embedding.pt that it finds beside a DFlash draft into the target's table.
_WEIGHTS_SUFFIXES = (
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".gguf",
    ".pkl",
    ".npz",
    ".npy",
    ".pickle",
    ".joblib",
    ".keras",
    ".pt2",
    ".h5",
    ".onnx",
    ".msgpack",
)
# Files that the hub or the release itself puts beside the checkpoint.
# What a release writes beside the declared files (zoo.release), and what hubs put there.
_EXPECTED = (
    *("README.md", "manifest.json", "notes.md", "model.sig", "provenance.intoto.jsonl"),
    ".gitattributes",
)


@rule("F002", "declared-file-missing", needs=("recipe", "checkpoint", "listing"))
def declared_file_missing(subject: Subject) -> Iterable[Finding]:
    """A file that the recipe declares is not in the checkpoint.

    What it does: Looks for each file of checkpoint.files.
    Why is this bad: The release would lack what its recipe and its card promise.
    Example: tech-report.pdf is declared as a document and was not copied.
    Use instead: The file in the folder, or no such line in the recipe.
    Since: 0.1.0
    """
    recipe, checkpoint = _both(subject)
    for name, kind in recipe.checkpoint.files.items():
        if name not in checkpoint.files:
            found = Findings(name)
            fact = f"declared as {kind} by the recipe, but not in the checkpoint"
            found.add("F002", fact, "add the file to the checkpoint, or remove its line from the recipe")
            yield from _related(found, recipe.where(pointer("checkpoint", "files", name)))


@rule("F003", "undeclared-weights", needs=("recipe", "checkpoint", "listing"))
def undeclared_weights(subject: Subject) -> Iterable[Finding]:
    """The checkpoint holds weights that the recipe does not declare as weights.

    What it does: Looks for files with the endings of weights that checkpoint.files does not list with that
    kind.
    Why is this bad: SGLang without an index loads every *.safetensors file of the folder, and the last one
    wins; other engines fall back to pickles. A forgotten file changes what is served.
    Example: model-old.safetensors beside model.safetensors; mask_embedding.pt, which SGLang 0.5.23 merges
    into the embedding of the target.
    Use instead: Only the files that the recipe declares.
    Sources: sgl-project/sglang 0.5.14, model_loader/weight_utils.py; 0.5.23, speculative/dflash_worker_v2.py.
    Since: 0.1.0
    """
    recipe, checkpoint = _both(subject)
    for name in checkpoint.files:
        kind = recipe.checkpoint.files.get(name)
        if name.lower().endswith(_WEIGHTS_SUFFIXES) and kind != "weights":
            found = Findings(name)
            stated = "does not declare it" if kind is None else f"declares it as {kind}"
            hint = "remove the file, or declare it as weights under checkpoint.files"
            found.add("F003", f"a weights file by its name, but the recipe {stated}", hint)
            yield from _related(found, recipe.where(_files_pointer(name, kind)))


# What a file must be declared as, by its name. Weights are safetensors only: a pickle runs code.
_KINDS = {"config.json": "config", INDEX_NAME: "index"}


@rule("R015", "file-kind", needs=("recipe",))
def file_kind(subject: Subject) -> Iterable[Finding]:
    """The recipe declares a file as something that it cannot be, or leaves out one that every draft needs.

    What it does: config.json must be declared, as config; weights must be declared and end in .safetensors,
    and such a file must be weights; the index must be an index.
    Why is this bad: a release without its config loads nowhere, and a pickle among the weights runs code.
    Example: {pytorch_model.bin: weights}.
    Use instead: {model.safetensors: weights, config.json: config}.
    Since: 0.1.0
    """
    assert subject.recipe is not None
    files = subject.recipe.checkpoint.files
    for name, kind in files.items():
        needed = _KINDS.get(name) or ("weights" if name.endswith(".safetensors") else None)
        where = subject.recipe.where(pointer("checkpoint", "files", name))
        if needed is not None and kind != needed:
            yield Finding(f"{name} is declared as {kind}", f"declare it as {needed}", where)
        elif needed is None and kind in ("weights", "config", "index"):
            yield Finding(f"{name} cannot be {kind}", f"no engine takes it as {kind}: remove it", where)
    for needed, example in (("weights", "model.safetensors: weights"), ("config", "config.json: config")):
        if needed not in files.values():
            where = subject.recipe.where("/checkpoint/files")
            yield Finding(f"no file is declared as {needed}", f"add {example}", where)


MASK_EMBEDDING = "mask_embedding.pt"


@rule("C105", "mask-embedding-beside", severity=Severity.WARNING, needs=("config", "listing"))
def mask_embedding_beside(subject: Subject) -> Iterable[Finding]:
    """A mask_embedding.pt lies beside a DFlash draft, and one engine version serves with it.

    What it does: for a folder without a recipe, looks for the file beside a draft of DFlash or of a family
    that is built on it. (With a recipe it is F003.)
    Why is this bad: SGLang 0.5.23 unpacks it and overwrites the row of the mask token in the target's own
    embedding, and stops where the file names another mask token; SGLang 0.5.14 and vLLM do not look for it.
    The same folder serves two drafts, and it is a pickle.
    Example: mask_embedding.pt beside model.safetensors.
    Use instead: a draft that was trained with the target's row of the mask token, without the file; else an
    engine that reads it.
    Sources: sglang 0.5.23, speculative/dflash_worker_v2.py (_maybe_merge_trained_mask_embedding).
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    if subject.recipe is not None or subject.family is None or subject.keys is not DIFFUSION:
        return
    if MASK_EMBEDDING in subject.checkpoint.files:
        found = Findings(MASK_EMBEDDING)
        fact = "SGLang 0.5.23 writes it into the target's embedding, and other engines ignore it"
        found.add("C105", fact, "find out whether the draft was trained with it, and remove it if not")
        yield from found.result()


@rule("F213", "consolidated-beside-model", needs=("checkpoint", "listing"))
def consolidated_beside_model(subject: Subject) -> Iterable[Finding]:
    """A consolidated*.safetensors lies beside other weights.

    What it does: looks for files called consolidated*.safetensors beside further safetensors files.
    Why is this bad: SGLang takes the pair for two copies of one model and loads only one of them.
    Example: consolidated.safetensors and model.safetensors.
    Use instead: one set of weights.
    Sources: sglang 0.5.14 model_loader/weight_utils.py.
    Since: 0.1.0
    """
    assert subject.checkpoint is not None
    names = [name for name in subject.checkpoint.files if name.endswith(".safetensors") and "/" not in name]
    consolidated = [name for name in names if name.startswith("consolidated")]
    if consolidated and len(consolidated) < len(names):
        found = Findings(consolidated[0])
        found.add("F213", "lies beside other weights, and engines load only one set", "keep one of the two")
        yield from found.result()


@rule("F004", "undeclared-file", severity=Severity.NOTE, needs=("recipe", "checkpoint", "listing"))
def undeclared_file(subject: Subject) -> Iterable[Finding]:
    """The checkpoint holds a file that the recipe does not declare.

    What it does: Looks for files that checkpoint.files does not list. What the tool itself publishes,
    .gitattributes, weights (F003) and code (X006) are left to others.
    Why is this bad: A release publishes the declared files only, so this one will be missing from it.
    Example: training_args.json
    Use instead: A line such as "tech-report.pdf: document" in the recipe, or a folder without the file.
    Since: 0.1.0
    """
    recipe, checkpoint = _both(subject)
    for name in checkpoint.files:
        handled = name.lower().endswith(_WEIGHTS_SUFFIXES + CODE_SUFFIXES) or name in _EXPECTED
        handled = handled or is_plot(name)
        if name not in recipe.checkpoint.files and not handled:
            found = Findings(name)
            hint = "declare it under checkpoint.files if it belongs to the release"
            found.add("F004", "not declared by the recipe, so it will not be released", hint)
            yield from _related(found, recipe.where("/checkpoint/files"))


def _both(subject: Subject) -> tuple[Recipe, Checkpoint]:
    assert subject.recipe is not None  # needs=("recipe", "checkpoint")
    assert subject.checkpoint is not None
    return subject.recipe, subject.checkpoint


def _files_pointer(name: str, kind: str | None) -> str:
    return pointer("checkpoint", "files") if kind is None else pointer("checkpoint", "files", name)


def _related(found: Findings, place: Where) -> Iterable[Finding]:
    return (replace(finding, related=(place,)) for finding in found.result())
