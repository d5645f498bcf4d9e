"""``zoo list --format markdown``: a catalogue that a README can hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.conftest import REPOSITORY, Ran

Run = Callable[..., Ran]


def test_the_catalogue_has_a_row_for_each_draft_that_leads_to_its_card(run_zoo: Run, tmp_path: Path) -> None:
    for part in ("recipes", "release"):
        shutil.copytree(REPOSITORY / part, tmp_path / part)
    (tmp_path / "zoo.toml").write_text("")
    (tmp_path / "recipes" / "broken.yaml").write_text("{")
    shutil.rmtree(tmp_path / "release" / "tiny-ft")
    ran = run_zoo("--zoo", tmp_path, "list", "--format", "markdown")
    head, rule, *rows = ran.out.splitlines()
    assert (ran.status, head) == (0, "| draft | title | version | family | target | released |")
    assert rule == "|---|---|---|---|---|---|"
    drafts = {row.split(" | ")[0].strip("| "): row for row in rows}
    assert list(drafts) == [
        "`broken`",
        "[`kimi-ft-v3`](release/kimi-ft-v3/1.0.0/README.md)",
        "[`smollm2-135m-dflash`](release/smollm2-135m-dflash/1.0.0/README.md)",
        "`tiny-ft`",
    ]
    assert "see: zoo verify broken" in drafts["`broken`"]
    assert "| 1.0.0 | dflash | `tiny` | nothing yet |" in drafts["`tiny-ft`"]


def test_a_title_cannot_break_out_of_its_cell(run_zoo: Run, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "recipes", tmp_path / "recipes")
    (tmp_path / "zoo.toml").write_text("")
    recipe = tmp_path / "recipes" / "tiny-ft.yaml"
    hostile = 'title: "x | [click](https://example.com) <script> @everyone"'
    lines = [hostile if line.startswith("title:") else line for line in recipe.read_text().splitlines()]
    recipe.write_text("\n".join(lines))
    row = run_zoo("--zoo", tmp_path, "list", "--format", "markdown").out.splitlines()[-1]
    assert "`tiny-ft`" in row
    assert row.replace("\\|", "").count("|") == 7
    assert not re.search(r"(?<!\\)[<\[]", row)
    assert "@everyone" not in row
