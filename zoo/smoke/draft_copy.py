"""The copy of a draft that is served: the config keys that engines read, the declared weights, and no more.

Serving is a trust boundary. SGLang reads the draft's config with the target's ``trust_remote_code``, so that
an ``auto_map`` in it would run its code, and without an index it loads every ``*.safetensors`` file that lies
in the folder (0.5.14, arg_groups/speculative_hook.py and model_loader/loader.py); 0.5.23 also unpickles a
``mask_embedding.pt``. The weights are hard links where the file system allows, and copies where not.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.folder import CONFIG_NAME
from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint
from zoo.drafts.keys import DIFFUSION, EAGLE, ROPE_BLOCKS, Keys
from zoo.drafts.layouts import KIND, LAYER, native
from zoo.errors import UsageError, ZooError
from zoo.printable import printable, quoted

# The config of a modelopt quantization, which engines read beside config.json.
_QUANTIZATION = "hf_quant_config.json"
# What every config of transformers carries and no list of drafts has: plain values, read by its base class.
_ANY_CONFIG = (
    "dtype torch_dtype transformers_version bos_token_id eos_token_id pad_token_id initializer_range "
    "attention_dropout use_cache"
).split()
# What vLLM reads of the nested layout of speculators (transformers_utils/configs/speculators).
_NESTED = (
    KIND,
    LAYER,
    "speculators_config",
    "speculators_version",
    "aux_hidden_state_layer_ids",
    "sliding_window_non_causal",
    "mask_token_id",
    "max_anchors",
    "sample_from_anchor",
)
# Names a file of code that is imported, at whatever depth it stands.
_CODE = "auto_map"
# A copy leaves the disk some room.
_ROOM = 256 * 1024 * 1024


class NoRoomError(ZooError):
    """The disk has no room for a copy of the draft."""


@contextmanager
def served_copy(
    checkpoint: Checkpoint, *, declared: Mapping[str, str] | None = None, under: Path | None = None
) -> Iterator[Path]:
    """A private folder (mode 0700) with the copy; it is removed when the block ends.

    ``declared`` are the files that the recipe declares, name -> kind; without, what an engine would load is
    taken. ``under`` is where the folder is made, the system's place for temporary files if None; on the file
    system of the draft the weights take no space.

    Raises:
        UsageError: the checkpoint lies elsewhere, or has no config or weights.
        NoRoomError: no hard link can be made, and a copy does not fit.
        OSError: a file cannot be read or written.
    """
    with private_folder(under) as folder:
        write_copy(checkpoint, folder, declared)
        yield folder


@contextmanager
def private_folder(under: Path | None = None) -> Iterator[Path]:
    """A folder that only this user may enter, gone after the block."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-draft-", dir=under))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_copy(checkpoint: Checkpoint, folder: Path, declared: Mapping[str, str] | None = None) -> None:
    """Write the copy into the empty folder ``folder``. Raises as :func:`served_copy`."""
    if checkpoint.opener is not None:
        raise UsageError(
            f"{quoted(checkpoint.source)} is not on this machine",
            hint=f"fetch it first: zoo pull {printable(checkpoint.source)} --out FOLDER",
        )
    if checkpoint.config is None:
        raise UsageError(
            f"{quoted(checkpoint.source)} has no config.json that can be read",
            hint=f"run: zoo verify {printable(checkpoint.source)}",
        )
    names = [
        file.name for file in checkpoint.weights if declared is None or declared.get(file.name) == "weights"
    ]
    if not names:
        raise UsageError(
            f"{quoted(checkpoint.source)} has no weights that the recipe declares",
            hint=f"run: zoo verify {printable(checkpoint.source)}",
        )
    write_json(folder / CONFIG_NAME, sanitised(checkpoint.config))
    small = [name for name in (INDEX_NAME, _QUANTIZATION) if name in checkpoint.files]
    for name in small:
        _copy(checkpoint.root / name, folder / name)
    link_all(checkpoint.root, names, folder)


def sanitised(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of ``config`` that some engine reads, whatever the family: for a served draft must read the
    same to the engine as the released one. Code is named nowhere in it."""
    nested = native(config).name != "flat"
    top = {*_ANY_CONFIG, *_allowed(DIFFUSION), *_allowed(EAGLE), *(_NESTED if nested else ())}
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if key not in top:
            continue
        if key in (DIFFUSION.own, EAGLE.own) and isinstance(value, Mapping):
            value = {inner: deep for inner, deep in value.items() if inner in top}
        kept[key] = _without_code(value)
    return kept


def _allowed(keys: Keys) -> set[str]:
    places = {path[0] for paths in keys.places.values() for path in paths}
    inner = {path[-1] for paths in keys.places.values() for path in paths if path[0] == keys.own}
    return {*keys.read, *places, *inner, keys.own, *ROPE_BLOCKS}


def _without_code(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_code(deep) for key, deep in value.items() if key != _CODE}
    if isinstance(value, list):
        return [_without_code(each) for each in value]
    return value


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def link_all(root: Path, names: list[str], folder: Path) -> None:
    """Hard links in ``folder`` to the files ``names`` of ``root``, or copies of all of them.

    Raises NoRoomError, OSError.
    """
    try:
        for name in names:
            _link(root / name, folder / name)
        return
    except OSError as error:
        # Another file system, one without links, or fs.protected_hardlinks and a file of another user.
        if error.errno not in (
            errno.EXDEV,
            errno.EPERM,
            errno.EACCES,
            errno.EMLINK,
            errno.ENOTSUP,
            errno.ENOSYS,
        ):
            raise
    for name in names:
        (folder / name).unlink(missing_ok=True)
    needed = sum((root / name).stat().st_size for name in names)
    free = shutil.disk_usage(folder).free
    if needed + _ROOM > free:
        raise NoRoomError(
            f"no room in {printable(str(folder.parent))} for a copy of the draft: it needs {needed:,} bytes, "
            f"{free:,} are free",
            hint="set TMPDIR to a folder on the draft's own disk, where hard links take no space",
        )
    for name in names:
        _copy(root / name, folder / name)


def _link(source: Path, target: Path) -> None:
    # A hub cache holds links into its blobs: the file is linked and never the link, which could be turned.
    os.link(source.resolve(strict=True), target, follow_symlinks=False)
    if not stat.S_ISREG(target.lstat().st_mode):
        target.unlink()
        raise OSError(errno.EINVAL, "not a regular file", str(source))


def _copy(source: Path, target: Path) -> None:
    with open_regular(source) as reading, target.open("xb") as writing:
        shutil.copyfileobj(reading, writing, 16 * 1024 * 1024)
