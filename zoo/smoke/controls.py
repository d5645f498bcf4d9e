"""Negative controls: copies of a draft that are broken in one known place, to be served like the real one.

A smoke test that passes one of them is dead. Every copy boots, answers 200 and gives the target's text, and
only the counts show what it is (SmolLM2-135M with its draft, accept length - 1 at temperature 0 against the
healthy draft: prefix -100%, drop-q -92%, zero-fc -87%, mask-token -83%, aux+1 -22%, aux-1 -14%). The same
faults in memory, for a replay, are in zoo/replay/variants.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.checkpoint.folder import CONFIG_NAME, open_checkpoint
from zoo.checkpoint.model import Checkpoint
from zoo.drafts.keys import DIFFUSION, EAGLE, Keys
from zoo.drafts.layouts import native
from zoo.errors import ZooError
from zoo.fix import Change, write_fixed
from zoo.smoke.draft_copy import link_all, private_folder, write_copy, write_json

# The id of the other mask token. In SmolLM2 the embedding of 17 is unlike the mask's; 11 has the mask's own,
# and is no fault at all.
OTHER_MASK = 17
_FC = "fc.weight"
_QUERIES = (".q_proj.weight", ".q_proj.bias", ".q_a_proj.weight", ".q_b_proj.weight")
_PREFIX = "draft."
_ZEROS = bytes(1024 * 1024)


@dataclass(frozen=True, slots=True)
class Control:
    """One way to break a draft. ``replayed`` is the name of the same or the nearest fault among the variants
    of a replay, "" if there is none."""

    name: str
    what: str
    replayed: str


CONTROLS: Mapping[str, Control] = {
    control.name: control
    for control in (
        Control("zero-fc", "fc.weight all zero", "fc-zeroed"),
        Control("drop-q", "every q_proj missing: the engine leaves it as it was allocated", "q-proj-random"),
        Control("prefix", f"every name prefixed {_PREFIX!r}: the engine loads nothing", "unloaded"),
        Control("mask-token", "another mask token", ""),
        Control("aux+1", "every aux layer one later", "aux-all+1"),
        Control("aux-1", "every aux layer one earlier", "aux-all-1"),
    )
}


class ControlNotPossibleError(ZooError):
    """This draft cannot be broken in this way, or would be refused by the engine instead of served badly."""


@contextmanager
def broken_copy(
    checkpoint: Checkpoint,
    control: str,
    *,
    declared: Mapping[str, str] | None = None,
    under: Path | None = None,
    mask_token: int | None = None,
) -> Iterator[Path]:
    """As :func:`zoo.smoke.draft_copy.served_copy`, with the draft broken as ``control`` says.

    ``mask_token``: the id that takes the mask's place; without, 17, or the next one if that is the mask.

    Raises:
        ControlNotPossibleError: the draft has nothing of the kind, or its engine would refuse the copy.
        UsageError, NoRoomError, OSError: as served_copy.
    """
    with private_folder(under) as folder:
        healthy, broken = folder / "healthy", folder / "broken"
        healthy.mkdir()
        write_copy(checkpoint, healthy, declared)
        write_broken(open_checkpoint(healthy, checkpoint.source), control, broken, mask_token=mask_token)
        yield broken


def write_broken(
    checkpoint: Checkpoint, control: str, folder: Path, *, mask_token: int | None = None
) -> None:
    """Write the broken copy of ``checkpoint``, itself a copy as it is served, to the new ``folder``. Nothing
    of the size of a tensor is held in memory. Raises as :func:`broken_copy`."""
    assert checkpoint.config is not None
    if control in ("zero-fc", "drop-q", "prefix"):
        changes = _changes(checkpoint, control)
        write_fixed(checkpoint, changes, folder)
        if control == "zero-fc":
            _zero(checkpoint, folder)
        return
    config = _other_mask(checkpoint, mask_token) if control == "mask-token" else _moved(checkpoint, control)
    folder.mkdir()
    others = [name for name in checkpoint.files if name != CONFIG_NAME]
    link_all(checkpoint.root, others, folder)
    write_json(folder / CONFIG_NAME, config)


def _changes(checkpoint: Checkpoint, control: str) -> dict[str, Change]:
    tensors = checkpoint.tensors
    if control == "zero-fc":
        if _FC not in tensors:
            raise _impossible(control, checkpoint, f"it has no {_FC}")
        return {}
    if control == "drop-q":
        dropped = [name for name in tensors if name.endswith(_QUERIES)]
        if not dropped:
            raise _impossible(control, checkpoint, "it has no q_proj of its own")
        return {name: Change(name, (), tensors[name].dtype) for name in dropped}
    return {name: Change(name, (_PREFIX + name,), tensor.dtype) for name, tensor in tensors.items()}


def _zero(checkpoint: Checkpoint, folder: Path) -> None:
    """Zero the bytes of fc.weight in the copy, which is written in the order of the original."""
    name = checkpoint.file_of[_FC]
    written = open_checkpoint(folder, str(folder))
    left = written.tensors[_FC].nbytes
    with (folder / name).open("r+b") as file:
        file.seek(written.data_start[_FC])
        while left > 0:
            left -= file.write(_ZEROS[:left])


def _other_mask(checkpoint: Checkpoint, given: int | None) -> dict[str, Any]:
    stated = _places(checkpoint, "mask_token_id")
    if not stated:
        raise _impossible("mask-token", checkpoint, "its config states no mask_token_id")
    mask = stated[0][1]
    other = given if given is not None else OTHER_MASK if mask != OTHER_MASK else OTHER_MASK + 1
    vocabulary = (checkpoint.config or {}).get("vocab_size")
    if other == mask:
        raise _impossible("mask-token", checkpoint, f"{other} is its mask token")
    if isinstance(vocabulary, int) and not 0 <= other < vocabulary:
        raise _impossible("mask-token", checkpoint, f"{other} is outside its vocabulary of {vocabulary:,}")
    # The text of the mask token would still say the right id, and SGLang refuses a contradiction.
    return _without_texts(_with(checkpoint, [(pointer, other) for pointer, _ in stated]))


def _moved(checkpoint: Checkpoint, control: str) -> dict[str, Any]:
    shift = {"aux+1": 1, "aux-1": -1}[control]
    stated = _places(checkpoint, "target_layer_ids")
    if not stated or not all(isinstance(ids, list) and ids for _, ids in stated):
        raise _impossible(control, checkpoint, "its config states no target_layer_ids")
    moved = [(pointer, [layer + shift for layer in ids]) for pointer, ids in stated]
    depths = [depth for _, depth in _places(checkpoint, "num_target_layers")]
    for _, ids in moved:
        if min(ids) < 0 or any(isinstance(depth, int) and max(ids) >= depth for depth in depths):
            # An engine refuses such a config, and the control would prove nothing.
            raise _impossible(
                control, checkpoint, f"the target has no layer {min(ids) if min(ids) < 0 else max(ids)}"
            )
    return _with(checkpoint, moved)


def _keys(config: Mapping[str, Any]) -> Keys:
    return EAGLE if isinstance(config.get(EAGLE.own), Mapping) else DIFFUSION


def _places(checkpoint: Checkpoint, key: str) -> list[tuple[str, Any]]:
    """JSON pointer and value of every place where the config states ``key``."""
    config = checkpoint.config or {}
    if native(config).name != "flat":
        return []
    return [(each.pointer, each.value) for each in _keys(config).stated(config).get(key, ())]


def _with(checkpoint: Checkpoint, values: list[tuple[str, Any]]) -> dict[str, Any]:
    """The config with other values at some JSON pointers, of one or two steps."""
    config = dict(checkpoint.config or {})
    for pointer, value in values:
        outer, _, inner = pointer.strip("/").partition("/")
        config[outer] = {**config[outer], inner: value} if inner else value
    return config


def _without_texts(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config without ``mask_token``, at its top and one level below."""
    kept = {key: value for key, value in config.items() if key != "mask_token"}
    return {
        key: {inner: each for inner, each in value.items() if inner != "mask_token"}
        if isinstance(value, Mapping)
        else value
        for key, value in kept.items()
    }


def _impossible(control: str, checkpoint: Checkpoint, why: str) -> ControlNotPossibleError:
    return ControlNotPossibleError(
        f"the control {control} cannot be made of {checkpoint.source}: {why}",
        hint=f"take another one: {', '.join(CONTROLS)}",
    )
