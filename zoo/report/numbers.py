"""The numbers of every tensor, as ``zoo verify --stats`` shows them: a table, and JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from zoo.checkpoint.scan import Scan, TensorScan
from zoo.printable import printable

_HEAD = ("tensor", "dtype", "shape", "NaN", "Inf", "min", "max", "mean", "std", "zeros")


def render_numbers(scan: Scan) -> str:
    """One line per tensor, in the order of the names."""
    rows = [_HEAD, *(_row(tensor) for _, tensor in sorted(scan.tensors.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    # Text to the left, numbers to the right.
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def numbers_json(scan: Scan) -> list[dict[str, Any]]:
    """The same for programs. JSON has no infinity: it is written as text."""
    found = []
    for _, tensor in sorted(scan.tensors.items()):
        entry = {key: value for key, value in asdict(tensor).items() if key not in ("checksum", "sample")}
        entry |= {key: _plain(entry[key]) for key in ("low", "high")}
        found.append(entry)
    return found


def _row(tensor: TensorScan) -> tuple[str, ...]:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    moments = tensor.moments
    rest = (
        ("", "", "")
        if moments is None
        else (_short(moments.mean), _short(moments.std), f"{moments.zeros:.2%}")
    )
    name = printable(tensor.name, keep="", limit=100)
    return (
        name,
        tensor.dtype,
        shape,
        str(tensor.nan),
        str(tensor.inf),
        _short(tensor.low),
        _short(tensor.high),
        *rest,
    )


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"


def _plain(number: float | None) -> float | str | None:
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number
