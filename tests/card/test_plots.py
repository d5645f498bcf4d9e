"""The plots of a card: the same bytes from the same record, shown with it only, and not needed for a card."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Ran
from zoo.card.plots import load_plots, mark
from zoo.card.render import render_card
from zoo.errors import ReleaseRefusedError
from zoo.evidence import Evidence, load_evidence, read_evidence
from zoo.recipe.load import usable_recipe
from zoo.workspace import Zoo, find_zoo

RECORD = Path("release/tiny-ft/1.0.0/evidence/replay-tiny-held-out.json")
PLOTS = Path("release/tiny-ft/1.0.0/plots")
NAMES = ["replay-tiny-held-out-conversations.svg", "replay-tiny-held-out-positions.svg"]
Run = Callable[..., Ran]


@pytest.fixture
def zoo(tmp_path: Path) -> Zoo:
    """A copy of this zoo, without the weights."""
    for name in ("recipes", "release", "templates"):
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, tmp_path / name)
    (tmp_path / "zoo.toml").write_text('publish_to = "dir:published"\n')
    return find_zoo(tmp_path)


def record(zoo: Zoo) -> Evidence:
    found, _ = read_evidence(zoo.root / RECORD, "record")
    assert found is not None
    return found


def card(zoo: Zoo) -> str:
    recipe = usable_recipe(zoo, "tiny-ft")
    return render_card(zoo, recipe, load_evidence(zoo, recipe)[0])


def test_a_card_shows_the_committed_plots_without_matplotlib(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = card(zoo)
    assert [text.count(f"](plots/{name})") for name in NAMES] == [1, 1]


def test_a_plot_of_another_record_is_not_shown(zoo: Zoo) -> None:
    for name in NAMES:
        path = zoo.root / PLOTS / name
        path.write_text(path.read_text().replace(mark(record(zoo)), "sha256:" + "0" * 64))
    assert "plots/" not in card(zoo)


def test_a_plot_of_a_stale_record_is_not_shown(zoo: Zoo) -> None:
    recipe = usable_recipe(zoo, "tiny-ft")
    assert len(load_plots(zoo, recipe, (record(zoo),))) == 2
    assert load_plots(zoo, recipe, (dataclasses.replace(record(zoo), stale="it is old"),)) == ()


def test_a_plot_that_is_a_link_is_refused(zoo: Zoo) -> None:
    path = zoo.root / PLOTS / NAMES[0]
    path.rename(zoo.root / "elsewhere.svg")
    path.symlink_to(zoo.root / "elsewhere.svg")
    with pytest.raises(ReleaseRefusedError, match="is a link"):
        card(zoo)


def test_drawing_says_what_to_install(zoo: Zoo, run_zoo: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--plots")
    assert ran.status == 2
    assert "pip install 'draft-zoo[plots]'" in ran.err


class TestDrawing:
    """Needs the extra ``plots``."""

    @pytest.fixture(autouse=True)
    def matplotlib(self) -> None:
        pytest.importorskip("matplotlib", reason="needs the plots extra")

    def test_the_command_draws_the_same_bytes_every_time(self, zoo: Zoo, run_zoo: Run) -> None:
        shutil.rmtree(zoo.root / PLOTS)
        written = []
        for _ in range(2):
            assert run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--plots").status == 0
            written.append({path.name: path.read_bytes() for path in (zoo.root / PLOTS).iterdir()})
        assert written[0] == written[1]
        assert sorted(written[0]) == NAMES
        for content in written[0].values():
            assert mark(record(zoo)).encode() in content
            assert b"<dc:date>" not in content
            assert b"<script" not in content

    def test_the_settings_of_the_machine_change_nothing(self, zoo: Zoo) -> None:
        import matplotlib as mpl

        from zoo.replay.plots import draw

        before = draw(record(zoo))
        with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "figure.dpi": 50}):
            assert draw(record(zoo)) == before

    def test_check_finds_a_plot_that_is_not_what_the_record_gives(self, zoo: Zoo, run_zoo: Run) -> None:
        assert run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--plots").status == 0
        assert run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--plots", "--check").status == 0
        path = zoo.root / PLOTS / NAMES[1]
        path.write_bytes(path.read_bytes() + b"<!-- -->")
        ran = run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--plots", "--check")
        assert ran.status == 1
        assert f"{PLOTS / NAMES[1]}: not what this version of matplotlib draws" in ran.err
        # Without --plots nobody draws, and the file still names its record.
        assert run_zoo("--zoo", zoo.root, "card", "tiny-ft", "--check").status == 0

    def test_without_a_base_the_conversations_are_those_of_the_walk(self, zoo: Zoo) -> None:
        from zoo.replay.plots import draw

        own = record(zoo)
        alone = dataclasses.replace(
            own, results=tuple(each for each in own.results if each.check != "gate/not-worse")
        )
        said = {plot.path: plot.content.decode() for plot in draw(alone)}
        assert "draft - base" not in said[f"plots/{NAMES[0]}"]
        assert "pooled: 5.99" in said[f"plots/{NAMES[0]}"]
        assert "draft - base" in next(
            plot.content.decode() for plot in draw(own) if plot.path.endswith(NAMES[0])
        )

    def test_an_engine_that_reads_another_draft_has_a_line_of_its_own(self, zoo: Zoo) -> None:
        from zoo.replay.plots import draw

        own = record(zoo)
        other = tuple(
            dataclasses.replace(each, measured={**each.measured, "as_its_trainer": False})
            if each.check == "engine/sglang-0.5.14"
            else each
            for each in own.results
        )
        said = draw(dataclasses.replace(own, results=other))[0].content
        assert b"agent, as sglang 0.5.14 reads it: 5.99" in said
        assert b"sglang 0.5.23" not in said

    def test_a_record_without_numbers_has_no_plots(self, zoo: Zoo) -> None:
        from zoo.replay.plots import draw

        gates = tuple(each for each in record(zoo).results if each.check.startswith("gate/"))
        assert draw(dataclasses.replace(record(zoo), results=gates)) == ()
