"""The one comment of ``zoo ci`` on a pull request.

Its first line is a mark that nobody sees. Who posts it looks for a comment *of its own* that begins with the
mark, and updates it: anybody can write the mark, so it alone says nothing.
"""

from __future__ import annotations

from itertools import chain

from zoo.ci.model import CiResult
from zoo.report.markdown import bounded
from zoo.report.summary import Size, blocks

MARK = "<!-- draft-zoo:ci -->"
# GitHub refuses more than 65,536 characters, and more than four times as many bytes.
SIZE = Size(characters=60_000, diff=8_000, table=12_000, rows=20)
_REST = "The rest does not fit here: see the summary of the job, or run `zoo ci`."


def render(result: CiResult) -> str:
    """The body of the comment, the mark first."""
    return bounded(chain([MARK], blocks(result, SIZE)), SIZE.characters, _REST)
