"""The reference engine: a target and a DFlash draft served in plain torch, for a smoke test on a CPU.

    python -m zoo.smoke.reference --model-path T --speculative-algorithm DFLASH \\
      --speculative-draft-model-path D --port 30000

It really runs both models and counts what is accepted. It answers on the few endpoints that a smoke test
asks, with the field names of SGLang 0.5.14, and takes the flags of its command line. It is not SGLang: it
batches nothing, shares no prefixes between requests, and is slow. Its log always says ``reference engine``.

Like SGLang's loader it does not mind missing or foreign tensors, so that a broken draft is served here too,
with correct text: only the counts show it.
"""

from __future__ import annotations

import sys

from zoo.printable import printable

NAME = "reference engine"


def say(text: str) -> None:
    """One line of the log, on standard error."""
    print(f"{NAME}: {printable(text, keep='')}", file=sys.stderr, flush=True)
