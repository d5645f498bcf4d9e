"""Collecting findings about one file, so that a broken one is reported in a few lines, not in a million.

    found = Findings("model.safetensors")
    found.add("F118", 'tensor "fc.weight" has the dtype "f32"', "write it with save_file", tensor="fc.weight")
    found.result()      # a tuple of zoo.results.Finding

Every message starts with the name of the file; everything in it is safe to show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from zoo.printable import printable
from zoo.results import Finding, Where

# A header may hold 100,000 tensors with the same defect; ten examples and a count say as much.
SHOWN_PER_CODE = 10


class Findings:
    """Findings about the file ``name``, or about the folder as a whole if that is None: at most
    :data:`SHOWN_PER_CODE` of each code, the rest only counted.

    Severity is left to the rule that documents the code (``zoo.rules.registry``).
    """

    def __init__(self, name: str | None) -> None:
        self._file = None if name is None else _shown(name)
        self._kept: list[Finding] = []
        self._count: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(
        self,
        code: str,
        fact: str,
        hint: str,
        *,
        tensor: str | None = None,
        pointer: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Record ``fact``, which follows the name of the file and a colon. Untrusted text in it is already
        quoted; ``tensor`` and ``pointer`` may be raw."""
        self._count[code] += 1
        if self._count[code] <= SHOWN_PER_CODE:
            where = Where(
                file=self._file,
                line=line,
                column=column,
                pointer=None if pointer is None else _shown(pointer),
                tensor=None if tensor is None else _shown(tensor),
            )
            message = fact if self._file is None else f"{self._file}: {fact}"
            self._kept.append(Finding(message, hint, where, code=code))

    def result(self) -> tuple[Finding, ...]:
        """Everything that was kept; the last finding of a code that occurred more often says how often."""
        last = {finding.code: index for index, finding in enumerate(self._kept)}
        return tuple(
            replace(finding, message=f"{finding.message} (and {more:,} more like this)")
            if (more := self._count[finding.code] - SHOWN_PER_CODE) > 0 and last[finding.code] == index
            else finding
            for index, finding in enumerate(self._kept)
        )


def _shown(text: str) -> str:
    """``text`` without characters that do not print, cut to a length that fits a report."""
    return printable(text, keep="", limit=200)
