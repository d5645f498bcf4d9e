"""What the name of a GPU in a profile says: the kind of chip that kernels are compiled for.

A name that is not known says nothing, so rules stay silent about it.
"""

from __future__ import annotations

import re

# Compute capability 10 (SM100) and 12 (SM12x): the two that SGLang calls Blackwell.
_SM100 = re.compile(r"\bG?B[123]00", re.IGNORECASE)
_SM120 = re.compile(r"\bRTX (?:50\d\d|PRO \d000)", re.IGNORECASE)
_OLDER = re.compile(
    r"\b(?:G?H[12]00|H20|H800|A[18]00|A[1-6]0|A[2-6]000|L4|L[24]0S?|V100|T4|RTX (?:[234]0\d\d|A\d000))",
    re.IGNORECASE,
)
_NOT_NVIDIA = re.compile(r"\b(?:MI\d{3}|Instinct|Radeon|Ascend|Gaudi|XPU)", re.IGNORECASE)


def is_sm100(gpu: str) -> bool | None:
    """Whether ``gpu`` is a data centre Blackwell (B200, GB300, ...); None where the name is not known."""
    if _SM100.search(gpu):
        return True
    return False if _SM120.search(gpu) or _OLDER.search(gpu) or is_not_nvidia(gpu) else None


def is_blackwell(gpu: str) -> bool | None:
    """Whether ``gpu`` is any Blackwell; None where the name is not known."""
    return True if _SM120.search(gpu) else is_sm100(gpu)


def is_not_nvidia(gpu: str) -> bool:
    """Whether ``gpu`` is known to be another maker's, on which SGLang runs no CUDA kernels."""
    return _NOT_NVIDIA.search(gpu) is not None
