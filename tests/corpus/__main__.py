"""Write the corpus as files: ``python -m tests.corpus OUT``, from the root of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.corpus.cases import write_all


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m tests.corpus OUT", file=sys.stderr)
        return 2
    out = Path(arguments[0])
    try:
        count = write_all(out)
    except FileExistsError:
        print(f"{out} exists; name a folder that does not", file=sys.stderr)
        return 2
    print(f"{count} cases and index.json in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
