"""Flags that are gone between two versions of an engine, and what does their work now.

Only what the sources say: a deprecated flag's message in the older wheel, or a field of the newer one that
states the same. A replacement may need another value; ``note`` says it.
"""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

# No release that had the flag was read; that it is gone, a later one says.
UNREAD = ""


@dataclass(frozen=True, slots=True)
class Rename:
    """``old`` is known to ``engine`` ``last`` and not to ``gone``: the versions that were read, and which one
    between them dropped it is not known; ``last`` may be UNREAD. ``new`` is None where nothing takes its
    place."""

    engine: str
    old: str
    new: str | None
    last: str
    gone: str
    source: str
    note: str = ""

    @property
    def advice(self) -> str:
        """What to do, in one line."""
        verb = f"use {self.new}" if self.new else f"drop {self.old}"
        return f"{verb} ({self.note})" if self.note else verb


_WARNS = "sglang 0.5.14, srt/server_args.py, add_cli_args: deprecated"
_GONE = "no field of sglang 0.5.23 (srt/arg_groups/fields/) stands for it"
_PREFILL = "--cuda-graph-backend-prefill"


def _sglang(old: str, new: str | None, source: str, note: str = "") -> Rename:
    return Rename("sglang", old, new, "0.5.14", "0.5.23", source, note)


RENAMES: tuple[Rename, ...] = (
    _sglang("--speculative-dflash-draft-window-size", "--speculative-draft-window-size", _WARNS),
    _sglang("--stream-output", "--incremental-streaming-output", _WARNS),
    _sglang("--nsa-prefill-backend", "--dsa-prefill-backend", _WARNS),
    _sglang("--nsa-decode-backend", "--dsa-decode-backend", _WARNS),
    _sglang("--mamba-scheduler-strategy", "--mamba-radix-cache-strategy", _WARNS),
    _sglang("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode", _WARNS),
    _sglang("--cuda-graph-bs", "--cuda-graph-bs-decode", _WARNS),
    _sglang("--enable-breakable-cuda-graph", f"{_PREFILL}=breakable", _WARNS),
    _sglang("--disable-piecewise-cuda-graph", f"{_PREFILL}=disabled", _WARNS),
    _sglang(
        "--enforce-piecewise-cuda-graph",
        None,
        "sglang 0.5.23, srt/model_executor/cuda_graph_config.py, parse_cuda_graph_backend_arg",
        "tc_piecewise was removed; breakable, full and disabled are left",
    ),
    _sglang("--piecewise-cuda-graph-tokens", "--cuda-graph-bs-prefill", _WARNS),
    _sglang("--piecewise-cuda-graph-max-tokens", "--cuda-graph-max-bs-prefill", _WARNS),
    _sglang("--piecewise-cuda-graph-compiler", None, _GONE, "it belonged to tc_piecewise"),
    _sglang("--cuda-graph-tc-compiler", None, _GONE, "it belonged to tc_piecewise"),
    _sglang("--enable-dsa-prefill-context-parallel", "--enable-prefill-cp", _WARNS),
    _sglang("--enable-nsa-prefill-context-parallel", "--enable-prefill-cp", _WARNS),
    _sglang("--enable-prefill-context-parallel", "--enable-prefill-cp", _WARNS),
    _sglang(
        "--dsa-prefill-cp-mode",
        "--cp-strategy",
        _WARNS,
        "in-seq-split is zigzag, round-robin-split is interleave",
    ),
    _sglang(
        "--nsa-prefill-cp-mode",
        "--cp-strategy",
        _WARNS,
        "in-seq-split is zigzag, round-robin-split is interleave",
    ),
    _sglang("--prefill-cp-mode", "--cp-strategy", _WARNS, "in-seq-split is zigzag"),
    _sglang(
        "--collect-tokens-histogram",
        None,
        _WARNS,
        "histograms are collected whenever --enable-metrics is set",
    ),
    _sglang("--prefill-round-robin-balance", None, _WARNS),
    _sglang(
        "--enable-deepep-waterfill",
        "--enable-waterfill",
        "sglang 0.5.23, srt/arg_groups/fields/exec_.py, enable_waterfill",
        "it no longer sets --moe-a2a-backend deepep by itself",
    ),
    _sglang(
        "--optimistic-prefill-retries",
        "--optimistic-prefill-attempts",
        "sglang 0.5.23, srt/arg_groups/fields/disagg.py, optimistic_prefill_attempts",
        "it counts forward passes, not retries",
    ),
    _sglang("--speculative-skip-dp-mlp-sync", None, _GONE),
    _sglang("--torchao-config", None, _GONE),
    _sglang("--enable-expert-distribution-metrics", None, _GONE),
    _sglang("--elastic-ep-rejoin", None, _GONE),
    _sglang("--keep-mm-feature-on-device", None, _GONE),
    Rename(
        "vllm",
        "--task",
        "--runner pooling",
        UNREAD,
        "0.33.0",
        "vllm 0.33.0, utils/argparse_utils.py, FlexibleArgumentParser.error",
        "for pooling models; a model that generates needs neither",
    ),
)
_BY_NAME = {(each.engine, each.old): each for each in RENAMES}


def rename(engine: str, version: str, name: str) -> Rename | None:
    """What became of ``name``, a flag that ``version`` does not know; None where nothing is known of it."""
    found = _BY_NAME.get((engine, name))
    if found is None:
        return None
    try:
        known = found.last != UNREAD and Version(version) <= Version(found.last)
        return None if known else found
    except InvalidVersion:
        return None
