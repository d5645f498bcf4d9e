"""Opening a checkpoint folder: its file list, config, headers and index, as one frozen value.

    checkpoint = open_checkpoint(Path("drafts/kimi-ft-v3"), "drafts/kimi-ft-v3")
    checkpoint.tensors["fc.weight"].shape, checkpoint.findings

Only the folder as a whole can be unreadable (an exception); everything that is wrong inside it is a finding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.content import SNIFFED_BYTES, open_regular, program, read_up_to
from zoo.checkpoint.index import INDEX_NAME, Index, compare, compare_unindexed, read_index
from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.checkpoint.listing import Listing, list_files
from zoo.checkpoint.model import Checkpoint, WeightsFile
from zoo.checkpoint.safetensors import read_header
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.results import Finding

CONFIG_NAME = "config.json"
# Weights that are no safetensors, as trainers write them.
_OTHER_WEIGHTS = (".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz")
# Documents that are zip archives by their format.
_ZIPPED = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub")
_CONFIG_CODES = JsonCodes(unreadable="C002", duplicate="C003", non_finite="C004")


def open_checkpoint(root: Path, source: str) -> Checkpoint:
    """Read what is small in the folder ``root``: names, ``config.json``, headers, index. ``source`` is what
    the user called it.

    Raises UnreadableError if the folder is missing, is not a folder, or may not be read.
    """
    listing = _list(root, source)
    config, config_findings = _read_config(root, listing)
    files, header_findings = _read_weights(root, listing)
    programs = _find_programs(root, listing)
    index, index_findings = _read_index(root, listing, files)
    loaded = files if index is None else tuple(file for file in files if file.name in index.shards)
    return Checkpoint(
        source=source,
        root=root,
        files=listing.files,
        config=config,
        weights=loaded,
        index=None if index is None else index.weight_map,
        findings=(*listing.findings, *config_findings, *header_findings, *programs, *index_findings),
    )


def _list(root: Path, source: str) -> Listing:
    try:
        return list_files(root)
    except FileNotFoundError:
        fact, hint = "does not exist", "check the path, or run: hf download OWNER/NAME --local-dir FOLDER"
    except NotADirectoryError:
        fact, hint = "is a file, not a folder", "give the folder that holds config.json and the weights"
    except PermissionError:
        fact, hint = "may not be read", "check the permissions of the folder and of the folders above it"
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a path with a NUL character
        fact, hint = f"cannot be opened ({type(error).__name__})", "check the path"
    raise UnreadableError(f"{quoted(source, limit=400)} {fact}", hint=hint)


def _read_config(root: Path, listing: Listing) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    if CONFIG_NAME in listing.files:
        return read_json(root / CONFIG_NAME, CONFIG_NAME, _CONFIG_CODES)
    found = Findings(CONFIG_NAME)
    if CONFIG_NAME not in listing.refused:
        found.add("C001", "not in the folder", "copy the config.json that the draft was trained with")
    return None, found.result()


def _read_weights(root: Path, listing: Listing) -> tuple[tuple[WeightsFile, ...], tuple[Finding, ...]]:
    """All ``*.safetensors`` files of the folder itself. Engines do not look into folders below it."""
    files: list[WeightsFile] = []
    findings: list[Finding] = []
    for name, size in listing.files.items():
        if is_weights(name):
            header, found = read_header(root / name, name)
            files.append(WeightsFile(name, size, header))
            findings.extend(found)
    if not files and not any(map(is_weights, listing.refused)):
        missing = Findings(None)
        hint = "put the exported *.safetensors files beside config.json"
        others = [name for name in listing.files if "/" not in name and name.endswith(_OTHER_WEIGHTS)]
        instead = f", but {quoted(others[0])}" if others else ""
        missing.add("F001", f"the folder has no *.safetensors file{instead}", hint)
        findings.extend(missing.result())
    return tuple(files), tuple(findings)


def _find_programs(root: Path, listing: Listing) -> tuple[Finding, ...]:
    """What runs code when it is loaded, whatever it is called. The first bytes tell."""
    findings: list[Finding] = []
    for name in listing.files:
        if not is_weights(name) and name not in (CONFIG_NAME, INDEX_NAME) and not name.endswith(_ZIPPED):
            try:
                with open_regular(root / name) as file:
                    what = program(read_up_to(file, SNIFFED_BYTES))
            except OSError:  # whoever reads it says so
                what = None
            if what is not None:
                found = Findings(name)
                found.add("X006", f"{what}, by its first bytes", "remove it: a draft is a config and weights")
                findings.extend(found.result())
    return tuple(findings)


def is_weights(path: str) -> bool:
    """Whether an engine may load the file at ``path`` of a checkpoint folder as weights."""
    return path.endswith(".safetensors") and "/" not in path


def _read_index(
    root: Path, listing: Listing, files: tuple[WeightsFile, ...]
) -> tuple[Index | None, tuple[Finding, ...]]:
    if INDEX_NAME not in listing.files:
        return None, () if INDEX_NAME in listing.refused else compare_unindexed(files)
    index, findings = read_index(root / INDEX_NAME)
    if index is not None:
        findings += compare(index, files, listing.files.keys() | listing.refused)
    return index, findings
