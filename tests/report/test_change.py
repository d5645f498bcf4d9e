"""The pages of ``zoo ci``: job summary and comment."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report import made
from tests.report.checks import valid_ci
from zoo.ci.model import CiResult
from zoo.report import comment, summary
from zoo.results import CheckResult, Outcome


def large(recipes: int, findings: int) -> CiResult:
    change = made.change()
    many = tuple(
        CheckResult("C010", Outcome.FAILED, findings=(made.finding(f"{number} {'word ' * 100}"),))
        for number in range(findings)
    )
    draft = change.drafts[0]
    report = replace(draft.report, results=many)
    return replace(
        change, drafts=tuple(replace(draft, name=f"draft-{n}", report=report) for n in range(recipes))
    )


def test_the_summary_has_a_row_for_each_recipe_the_failed_ones_first() -> None:
    page = summary.render(made.change())
    rows = [line for line in page.splitlines() if line.startswith(("| `example`", "| `new`", "| `other`"))]
    assert rows == [
        "| `example` | changed | 1.0.0 → words | failed | 1 | 1 | 1 of 2 count |",
        "| `new` | added | none | passed | 0 | 0 | none |",
        "| `other` | unchanged | 1.0.0 | passed | 0 | 0 | none |",
    ]


def test_the_summary_says_what_was_found_with_which_evidence_and_what_changed() -> None:
    page = summary.render(made.change())
    assert page.startswith(
        "## Draft zoo: failed\n\n2 errors, 1 warning, 1 note; 2 files of the zoo changed, "
    )
    assert "compared with `words` (`0123456789ab`). Head: `0123456789ab` and what is not committed." in page
    assert (
        "### `example`: failed\n\nBecause of `recipes/example.yaml` (recipe), `recipes/words` (extends)."
        in page
    )
    assert "| error | C010 dimensions | words<br>→ words | `words /words tensor words`" in page
    assert "| `smoke-b200` | failed | by the author, unsigned | no: words | unchanged |" in page
    assert "- **Not checked, and needed**: words (F001)" in page
    assert '| `block_size` | `"a"` | `"b"` |' in page
    assert "A new recipe: there is nothing to compare with." in page
    assert "Not compared with the base: words" in page


def test_a_change_of_no_recipe_says_so() -> None:
    change = made.change()
    tree = replace(change.tree, results=(CheckResult("V003", Outcome.PASSED),))
    page = comment.render(replace(change, drafts=(), tree=tree))
    assert page.startswith(f"{comment.MARK}\n\n## Draft zoo: passed\n")
    assert page.endswith("\n\nNo recipe is affected.\n")


def test_a_comment_that_is_too_long_ends_between_two_parts_and_says_so() -> None:
    page = comment.render(large(60, 30))
    assert 30_000 < len(page) <= comment.SIZE.characters
    assert page.endswith("\n\nThe rest does not fit here: see the summary of the job, or run `zoo ci`.\n")
    assert page.count("<details>") == page.count("</details>")
    assert re.search(r"(?m)^\d+ more are not shown\.$", page)


@pytest.mark.parametrize("text", ["@a" * 500, "\U000e0041" * 500, "\\`*[|" * 200, "&amp;" * 200])
def test_no_text_grows_so_much_that_its_finding_has_no_room_in_the_comment(text: str) -> None:
    page = comment.render(made.change(text))
    assert "| error | C010 dimensions |" in page
    assert "| error | V003 " in page


def test_a_summary_stays_below_what_github_takes() -> None:
    page = summary.render(large(300, 100))
    assert len(page.encode()) < 1024 * 1024
    assert page.endswith("The rest does not fit here: see the log of the job, or run `zoo ci`.\n")


def test_the_json_is_what_its_schema_says() -> None:
    valid_ci(made.change().as_json())
