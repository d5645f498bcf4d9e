"""The plots of a card: SVG files in ``release/NAME/VERSION/plots/``, drawn from replay records and no more.

They are drawn once, where matplotlib is (``zoo card NAME --plots``), and committed. A card is made without
it: it shows a plot that is there and names its record by digest, and no other. A release publishes what its
card shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zoo.digests import canonical_json, sha256_hex
from zoo.evidence import Evidence
from zoo.recipe.model import Recipe
from zoo.release.paths import PLOTS, read
from zoo.workspace import Zoo

# What can be seen in each plot.
KINDS: Mapping[str, str] = {
    "positions": "Share of verify steps that accepted each position",
    "conversations": "Each conversation of the main domain, sorted",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """``path`` is relative to the card; ``record`` is the name of the evidence that it shows."""

    path: str
    record: str
    title: str
    content: bytes


def path_of(record: Evidence, kind: str) -> str:
    return f"{PLOTS}{record.name}-{kind}.svg"


def replays_of(evidence: tuple[Evidence, ...]) -> Iterator[Evidence]:
    """The records that have plots: replays that count."""
    return (record for record in evidence if record.kind == "replay" and not record.stale)


def mark(record: Evidence) -> str:
    """The identifier in a plot that binds it to its record: the digest of the record's canonical JSON."""
    return f"sha256:{sha256_hex(canonical_json(record.as_json()))}"


def load_plots(zoo: Zoo, recipe: Recipe, evidence: tuple[Evidence, ...]) -> tuple[Plot, ...]:
    """The plots that show the present records; one of a record that has changed since is left out.

    Raises:
        ReleaseRefusedError: one of the files is a link.
        UnreadableError: one is no regular file, or cannot be read.
    """
    folder = zoo.release_folder(recipe.name, recipe.version)
    found = []
    for record in replays_of(evidence):
        for kind, title in KINDS.items():
            path = path_of(record, kind)
            content = read(zoo, folder / path)
            if content is not None and mark(record).encode() in content:
                found.append(Plot(path, record.name, title, content))
    return tuple(found)
