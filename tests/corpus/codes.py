"""Write CODES.md, the meaning of every code of the corpus: ``python -m tests.corpus.codes``."""

from __future__ import annotations

from tests.corpus.cases import CASES, CORPUS, expectation
from zoo.rules import RULES

PAGE = CORPUS / "CODES.md"
HEAD = """# Codes of the corpus

What the codes in `expect.json` and `index.json` mean. Written by `python -m tests.corpus.codes`;
`zoo rule CODE` says more about each: why it is bad, an example, what to do instead, and sources.

| code | severity | name | meaning |
|---|---|---|---|
"""


def page() -> str:
    """The whole page: a row for each code that some case expects."""
    codes = {code for case in CASES for code in expectation(case)["codes"]} & set(RULES)
    rules = [RULES[code] for code in sorted(codes)]
    rows = [f"| {rule.code} | {rule.severity} | {rule.name} | {rule.summary} |" for rule in rules]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
