"""Rules about hostile input (X): files, names and keys that harm whoever reads or serves the checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.folder import CONFIG_NAME
from zoo.checkpoint.jsonfile import pointer, walk
from zoo.printable import quoted
from zoo.results import Finding
from zoo.rules.registry import reported, rule

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.rules.subject import Subject


@reported("X001", "link-out-of-folder")
def link_out_of_folder() -> None:
    """A symbolic link leads out of the folder, or to another folder.

    What it does: Resolves each link. A link is followed only to a file in the same checkpoint folder, or to
    the blobs folder of the Hugging Face cache that the folder is a snapshot of.
    Why is this bad: A link of a stranger can make a tool read, hash or publish any file of the host.
    Example: notes.txt -> /etc/passwd
    Use instead: A copy of the file.
    Since: 0.1.0
    """


@reported("X002", "special-file")
def special_file() -> None:
    """A FIFO, socket or device lies in the folder.

    What it does: Looks at the type of each file and opens only regular ones.
    Why is this bad: A FIFO blocks its reader for ever, and a device may act when it is read.
    Example: mkfifo model.safetensors
    Use instead: A regular file.
    Since: 0.1.0
    """


@reported("X003", "colliding-names")
def colliding_names() -> None:
    """Two names differ only in case or Unicode form.

    What it does: Compares names as the file systems of macOS and Windows do.
    Why is this bad: On such a system one of the two files replaces the other, and which one is chance.
    Example: config.json and Config.json
    Use instead: Names that differ in their letters.
    Since: 0.1.0
    """


@reported("X004", "hostile-file-name")
def hostile_file_name() -> None:
    """A file name holds characters that do not print, or a backslash.

    What it does: Refuses control, bidirectional and other invisible characters, bytes that are not UTF-8, and
    the backslash, which separates folders on Windows. The file is not read.
    Why is this bad: Such a name can rewrite what a reviewer sees, or leave its folder on another system.
    Example: A name with U+202E, after which the letters run backwards.
    Use instead: Letters, digits, dot, dash and underscore.
    Sources: CVE-2021-42574.
    Since: 0.1.0
    """


@reported("X005", "too-many-files")
def too_many_files() -> None:
    """The folder holds more than 10,000 files and folders.

    What it does: Stops listing at that number.
    Why is this bad: A checkpoint has about ten files. This is another folder, or one made to stall its
    reader.
    Example: The home folder instead of the checkpoint.
    Use instead: The folder of one checkpoint.
    Since: 0.1.0
    """


@reported("X008", "hostile-tensor-name")
def hostile_tensor_name() -> None:
    """A tensor name is not made of letters, digits, _ and - joined by dots.

    What it does: Requires that form, which the names of torch parameters have.
    Why is this bad: Tools turn tensor names into file names, tables and web pages: ../../x leaves a folder,
    an escape sequence rewrites a terminal, an empty part never matches a parameter.
    Example: ../../x, a name with a NUL, or layers..weight
    Use instead: The names of the state dict.
    Since: 0.1.0
    """


@reported("X009", "index-path")
def index_path() -> None:
    """The index names a shard by something else than a plain file name.

    What it does: Requires names without folders, and with letters, digits, dot, dash and underscore only.
    Why is this bad: A path in an index makes a loader read outside of the checkpoint.
    Example: ../other/model.safetensors
    Use instead: The name of a file in the same folder.
    Since: 0.1.0
    """


CODE_SUFFIXES = (".py", ".pyc", ".pyd", ".so", ".dll", ".dylib", ".ipynb")


@rule("X006", "code-file", needs=("checkpoint", "listing"))
def code_file(subject: Subject) -> Iterable[Finding]:
    """The checkpoint holds a file of program code.

    What it does: Looks for Python files, notebooks and compiled modules, in folders below as well; and for
    pickles, zip archives and compiled programs by their first bytes, whatever they are called.
    Why is this bad: SGLang reads the config of the draft with the trust_remote_code of the target: code that
    lies beside the weights can run on the host that serves them. A release of weights needs none.
    Example: modeling_dflash.py
    Use instead: An architecture that the engine implements, named in config.json.
    Sources: sgl-project/sglang 0.5.14, srt/arg_groups/speculative_hook.py.
    Since: 0.1.0
    """
    yield from (each for each in subject.reported if each.code == "X006")
    for path in _checkpoint(subject).files:
        if path.lower().endswith(CODE_SUFFIXES):
            found = Findings(path)
            found.add("X006", "program code in a checkpoint", "remove it: a draft is a config and weights")
            yield from found.result()


@rule("X007", "auto-map")
def auto_map(subject: Subject) -> Iterable[Finding]:
    """The config names code to run.

    What it does: Looks for the key auto_map in config.json, at every level.
    Why is this bad: With trust_remote_code, transformers imports the module that auto_map names, from this or
    from any other repository of the hub. SGLang applies the target's setting to the draft.
    Example: "auto_map": {"AutoConfig": "OWNER/NAME--configuration.DraftConfig"}
    Use instead: A config without auto_map; engines know the architecture by its name.
    Sources: sgl-project/sglang 0.5.14, srt/arg_groups/speculative_hook.py; transformers,
    dynamic_module_utils.py.
    Since: 0.1.0
    """
    found = Findings(CONFIG_NAME)
    for parts, value in walk(dict(_checkpoint(subject).config or {})):
        if isinstance(value, dict) and "auto_map" in value:
            at = pointer(*parts, "auto_map")
            found.add("X007", f"{quoted(at)} names code to run", "remove the key", pointer=at)
    return found.result()


def _checkpoint(subject: Subject) -> Checkpoint:
    assert subject.checkpoint is not None  # needs=("checkpoint",)
    return subject.checkpoint


@reported("X010", "recipe-link", needs=("recipe_file",))
def recipe_link() -> None:
    """A recipe, target file or profile is a link that leads out of the zoo.

    What it does: Resolves each of these files; it must lie in the zoo.
    Why is this bad: A pull request could make the tool read, and quote in its messages, any file of the
    machine that checks it.
    Example: recipes/x.yaml -> /etc/passwd
    Use instead: The file itself
    Since: 0.1.0
    """
