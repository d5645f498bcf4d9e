"""Drawing the plots of a replay record with matplotlib, as SVG whose bytes depend on the record and on the
version of matplotlib only.

Text stays text, so that no font is part of the file; ids are salted with a constant, and no date is written.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zoo.card.plots import KINDS, Plot, mark, path_of
from zoo.errors import UsageError
from zoo.evidence import Evidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = (6.4, 3.6)
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "draft-zoo",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "savefig.facecolor": "white",
}
_OURS, _WORSE = "#2060a0", "#c04020"


def draw(record: Evidence) -> tuple[Plot, ...]:
    """The plots of one replay record: those for which it has the numbers.

    Raises:
        UsageError: matplotlib is missing.
    """
    made = []
    for kind, title in KINDS.items():
        content = _svg(_DRAWN[kind], record, title)
        if content is not None:
            made.append(Plot(path_of(record, kind), record.name, title, content))
    return tuple(made)


def _svg(fill: Callable[[Axes, Evidence], bool], record: Evidence, title: str) -> bytes | None:
    """One figure, or None where ``fill`` has nothing to draw."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(
            f"plots need matplotlib ({error.name} is missing)", hint="run: pip install 'draft-zoo[plots]'"
        ) from error
    with mpl.rc_context():
        mpl.rcdefaults()  # not what a matplotlibrc of this machine says
        mpl.rcParams.update(_STYLE)
        figure = Figure(figsize=_INCHES, layout="constrained")
        axes = figure.add_subplot()
        if not fill(axes, record):
            return None
        written = io.BytesIO()
        about = {"Title": title, "Identifier": mark(record), "Creator": f"matplotlib {mpl.__version__}"}
        FigureCanvasSVG(figure).print_svg(written, metadata={**about, "Date": None})
    return written.getvalue()


def _positions(axes: Axes, record: Evidence) -> bool:
    """A line per domain, and one per engine that reads the config otherwise than its trainer."""
    shown = [
        (_named(each.measured), each.measured)
        for each in record.results
        if "by_position" in each.measured and not each.measured.get("as_its_trainer")
    ]
    for name, said in shown:
        shares = said["by_position"]
        places = range(1, 1 + len(shares))
        dashes = "--" if "reading" in said else "-"
        axes.plot(
            places, shares, dashes, marker="o", markersize=4, label=f"{name}: {said['accept_length']:.2f}"
        )
        axes.set_xticks(places)
    if not shown:
        return False
    axes.set(xlabel="position in the block", ylabel="share of verify steps", ylim=(0, 1))
    axes.legend(title="accept length")
    return True


def _conversations(axes: Axes, record: Evidence) -> bool:
    """The difference to the base in accept length at every anchor; without a base, the accept length of the
    walk."""
    own = next((each.measured for each in record.results if each.measured.get("main") is True), {})
    base = next((each.measured for each in record.results if each.check == "gate/not-worse"), {})
    if "conversation_steps" not in own:
        return False
    if "base_conversation_anchors" in base:
        ours = _rates(own["conversation_accepted"], own["conversation_anchors"])
        theirs = _rates(base["base_conversation_accepted"], base["base_conversation_anchors"])
        values = sorted(a - b for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None)
        axes.axhline(0, color="black", linewidth=0.8)
        label = "accept length, draft - base"
    else:
        found = _rates(own["conversation_correct"], own["conversation_steps"])
        values = sorted(1 + each for each in found if each is not None)
        pooled = own["accept_length"]
        axes.axhline(pooled, color="black", linewidth=0.8, linestyle="--", label=f"pooled: {pooled:.2f}")
        axes.set_ylim(bottom=1)  # which is what a draft has that is never right
        axes.legend()
        label = "accept length"
    colours = [_WORSE if value < 0 else _OURS for value in values]
    axes.bar(range(1, 1 + len(values)), values, color=colours)
    axes.set(xlabel=f"conversations of {own['domain']}, sorted", ylabel=label)
    return bool(values)


def _rates(accepted: list[int], steps: list[int]) -> list[float | None]:
    """Accepted proposals per step of each conversation; None for one without a step."""
    return [a / n if n else None for a, n in zip(accepted, steps, strict=True)]


def _named(said: Mapping[str, Any]) -> str:
    reading = said.get("reading")
    return f"{said['domain']}, as {reading} reads it" if reading else str(said["domain"])


_DRAWN: Mapping[str, Callable[[Axes, Evidence], bool]] = {
    "positions": _positions,
    "conversations": _conversations,
}
