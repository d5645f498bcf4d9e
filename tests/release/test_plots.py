"""A release publishes the plots that its card shows, and freezes them with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.release.conftest import Place
from tests.release.test_gates import add_evidence
from zoo.card.plots import mark, path_of
from zoo.evidence import read_evidence
from zoo.results import Outcome


@pytest.fixture
def plotted(place: Place) -> Path:
    """The plot of a replay of ``place``: any file with the mark of the record is one."""
    evidence, _ = read_evidence(add_evidence(place, "replay", Outcome.PASSED), "record")
    assert evidence is not None
    path = place.root / "release/tiny/1.0.0" / path_of(evidence, "positions")
    path.parent.mkdir(parents=True)
    path.write_text(f"<svg>{mark(evidence)}</svg>")
    return path


def test_the_plots_of_the_card_are_published_with_it(place: Place, plotted: Path) -> None:
    ran = place.push()
    assert ran.status == 0, ran.err
    assert "README.md (" in ran.out
    assert " and 1 plot, notes.md" in ran.out
    folder = place.published / "tiny/1.0.0"
    name = f"plots/{plotted.name}"
    assert (folder / name).read_bytes() == plotted.read_bytes()
    assert f"]({name})" in (folder / "README.md").read_text()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert name in [each["path"] for each in manifest["files"]]
    # Notes speak of the draft and not of what the tool writes.
    assert name not in (folder / "notes.md").read_text()


def test_a_plot_of_something_else_is_not_published(place: Place, plotted: Path) -> None:
    plotted.write_text("<svg>sha256:" + "0" * 64 + "</svg>")
    assert place.push().status == 0
    assert not (place.published / "tiny/1.0.0/plots").exists()


def test_the_same_release_again_has_nothing_to_do(place: Place, plotted: Path) -> None:
    assert place.push().status == 0
    ran = place.push()
    assert ran.status == 0, ran.err
    assert "released before with the same bytes" in ran.out
    assert place.run("--zoo", place.root, "verify", "tiny@1.0.0").status == 0


def test_a_published_plot_is_frozen(place: Place, plotted: Path) -> None:
    assert place.push().status == 0
    plotted.write_text(plotted.read_text() + "<!-- -->")
    ran = place.push()
    assert ran.status == 1
    assert f"{plotted.name} is not what was published as tiny 1.0.0" in ran.err


def test_a_published_plot_that_is_lost_comes_back_from_the_target(place: Place, plotted: Path) -> None:
    assert place.push().status == 0
    content = plotted.read_bytes()
    plotted.unlink()
    ran = place.push()
    assert ran.status == 0, ran.err
    assert f'plots/{plotted.name}" would differ now and stay as published' in ran.out
    assert plotted.read_bytes() == content


def test_a_release_and_its_folder_do_not_differ_by_their_plots(place: Place, plotted: Path) -> None:
    assert place.push().status == 0
    ran = place.run("--zoo", place.root, "diff", place.checkpoint, "tiny@1.0.0")
    assert plotted.name not in ran.out
    assert ran.status == 0, ran.out + ran.err
