"""Run the mutations and print what was found.

    python -m tests.mutations.run --seed 1 --count 6000            # tables, escapes, and what stays unseen
    python -m tests.mutations.run --write                          # the figures into docs/mutations.md
    python -m tests.mutations.run --json                           # one line per mutation

Exit status 1 if a mutation that contradicts its recipe was not flagged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.drafts import VARIANTS
from tests.mutations.judge import Answer
from tests.mutations.measure import COUNT, SEED, Outcome, figures, outcomes

PAGE = Path(__file__).parents[2] / "docs" / "mutations.md"
_BEGIN, _END = "<!-- figures: python -m tests.mutations.run --write -->", "<!-- end of figures -->"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Mutate a draft of every family and ask zoo about each one.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--only", action="append", choices=list(VARIANTS), help="one draft (repeatable)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    options = parser.parse_args(argv)
    variants = [VARIANTS[name] for name in options.only or VARIANTS]
    found = list(outcomes(variants, options.seed, options.count))
    escaped = [each for each in found if each.escaped]
    if options.json:
        for each in found:
            print(json.dumps({key: getattr(each, key) for key in each.__slots__}))
    elif options.write:
        PAGE.write_text(_with_figures(PAGE.read_text(encoding="utf-8"), figures(found)), encoding="utf-8")
    else:
        print(figures(found))
        unseen = [each for each in found if each.excuse is None and each.without_recipe is Answer.NOTHING]
        print(_listed("unseen without a recipe", unseen))
        print(_listed("ESCAPED", escaped))
    return 1 if escaped else 0


def _with_figures(page: str, tables: str) -> str:
    """The page with ``tables`` between its two marks."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{tables}{_END}{after}"


def _listed(title: str, found: Sequence[Outcome]) -> str:
    lines = [f"{title}: {len(found):,}"]
    lines += [f"  {each.variant}: {each.kind}: {each.words}" for each in found]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
