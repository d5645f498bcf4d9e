"""The GPUs of this machine, through nvidia-ml-py: are they those of the profile, are they free, is their
memory back? Imported only where a profile names GPUs; CUDA is never initialised here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zoo.errors import ZooError
from zoo.printable import printable

_GIB = 1024**3
# A GPU that nobody uses holds some hundred MiB for its driver (H200, driver 580).
_IDLE = _GIB
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class GpusUnknownError(ZooError):
    """Nobody can say what GPUs this machine has."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """``total`` and ``free`` in bytes. ``pids`` are the processes on it, as far as they can be seen from here
    (a container sees its own)."""

    index: int
    name: str
    uuid: str
    total: int
    free: int
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order, and the version of the driver."""

    driver: str
    gpus: tuple[Gpu, ...]


def read_gpus(visible: str | None = None) -> Gpus:
    """The GPUs as they are now. ``visible`` is the CUDA_VISIBLE_DEVICES of the server, None for that of zoo.

    Raises GpusUnknownError if nvidia-ml-py is not installed, there is no driver, or ``visible`` names others.
    """
    try:
        import pynvml
    except ImportError as error:
        raise GpusUnknownError(
            "the GPUs cannot be looked at: nvidia-ml-py is not installed",
            hint="install it beside zoo: pip install 'draft-zoo[serve]'",
        ) from error
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise GpusUnknownError(
            f"the GPUs cannot be looked at: {error}",
            hint="check nvidia-smi; without a GPU only --tier cpu can run here",
        ) from error
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        found = [_read(pynvml, index, handle) for index, handle in enumerate(handles)]
        driver = str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError as error:
        raise GpusUnknownError(
            f"a GPU cannot be read: {error}", hint="check nvidia-smi, and dmesg for Xid"
        ) from error
    finally:
        pynvml.nvmlShutdown()
    return Gpus(driver, chosen(found, os.environ.get(_VISIBLE) if visible is None else visible))


def _read(pynvml: Any, index: int, handle: Any) -> Gpu:
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    processes = [
        *pynvml.nvmlDeviceGetComputeRunningProcesses(handle),
        *pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle),
    ]
    pids = tuple(sorted({int(each.pid) for each in processes}))
    name, uuid = str(pynvml.nvmlDeviceGetName(handle)), str(pynvml.nvmlDeviceGetUUID(handle))
    return Gpu(index, name, uuid, int(memory.total), int(memory.free), pids)


def chosen(gpus: Sequence[Gpu], visible: str | None) -> tuple[Gpu, ...]:
    """What a value of CUDA_VISIBLE_DEVICES (indices, beginnings of UUIDs) leaves; None leaves all.

    CUDA stops at the first entry that it does not know; here that is an error, as it is never meant.
    """
    if visible is None:
        return tuple(gpus)
    kept = []
    for word in filter(None, (part.strip() for part in visible.split(","))):
        matching = [
            gpu for gpu in gpus if str(gpu.index) == word or (len(word) > 4 and gpu.uuid.startswith(word))
        ]
        if len(matching) != 1:
            raise GpusUnknownError(
                f"{_VISIBLE} names {printable(word, keep='')}, which is no GPU of this machine",
                hint="name indices or UUIDs that nvidia-smi -L shows; a MIG slice cannot be checked",
            )
        kept += matching
    return tuple(kept)


def preflight(
    found: Gpus, *, count: int, name: str, share: bool = False, free_share: float = 0.9
) -> tuple[str, ...]:
    """Why the server should not start on the first ``count`` of these GPUs: each reason one line, none if all
    is well.

    ``name`` is the GPU of the profile ("H200" fits "NVIDIA H200"). Each GPU must be unused and have
    ``free_share`` of its memory free, unless ``share`` says that others may be there.
    """
    used = found.gpus[:count]
    problems = []
    if len(used) < count:
        problems.append(
            f"{count} GPUs are needed and {len(found.gpus)} are visible (nvidia-smi -L, {_VISIBLE})"
        )
    others = sorted({gpu.name for gpu in used if not is_gpu(gpu.name, name)})
    if others:
        problems.append(f"the profile is for {printable(name)}, and here is {printable(', '.join(others))}")
    if not share:
        problems += filter(None, (_busy(gpu, free_share) for gpu in used))
    return tuple(problems)


def is_gpu(name: str, wanted: str) -> bool:
    """Whether the GPU that its driver calls ``name`` ("NVIDIA H200") is the profile's ("H200")."""
    return _words(wanted) <= _words(name)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[A-Z0-9]+", name.upper()))


def _busy(gpu: Gpu, free_share: float) -> str:
    advice = f"end it, choose others with {_VISIBLE}, or give --share-gpus"
    if gpu.pids:
        return f"GPU {gpu.index} is used by process {', '.join(map(str, gpu.pids))}: {advice}"
    taken = gpu.total - gpu.free
    if gpu.free < free_share * gpu.total and taken > _IDLE:
        return (
            f"GPU {gpu.index} has {taken / _GIB:.1f} of {gpu.total / _GIB:.1f} GiB in use by a process "
            f"that cannot be seen from here (another container): {advice}"
        )
    return ""


def memory_kept(
    before: Gpus, visible: str | None = None, *, wait_s: float = 20.0, slack: int = _IDLE
) -> list[str]:
    """The GPUs with more than ``slack`` bytes less free than ``before``, in words, after waiting for at most
    ``wait_s`` for it to come back: the driver frees the memory of a killed process a moment later."""
    end = time.monotonic() + wait_s
    while True:
        now = read_gpus(visible)
        kept = lost(before, now, slack)
        if not kept or time.monotonic() > end:
            return kept
        time.sleep(0.5)


def lost(before: Gpus, after: Gpus, slack: int = _IDLE) -> list[str]:
    """As :func:`memory_kept`, of two readings."""
    free = {gpu.uuid: gpu.free for gpu in after.gpus}
    return [
        f"GPU {gpu.index} has {(gpu.free - free[gpu.uuid]) / _GIB:.1f} GiB less free than before the start"
        for gpu in before.gpus
        if gpu.uuid in free and gpu.free - free[gpu.uuid] > slack
    ]
