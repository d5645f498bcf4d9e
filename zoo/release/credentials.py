"""Credentials that must not be published: a token that slipped into a small text file of the release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.credentials import find as find
from zoo.credentials import hidden as hidden
from zoo.errors import ReleaseRefusedError

# Texts of a checkpoint (config, card, index) and the headers of weights are far smaller.
_SIZE_LIMIT = 4 * 1024 * 1024


def find_in_file(path: Path, known: Iterable[str] = ()) -> str | None:
    """:func:`find` in a file; of one that is too large to be a text, in its beginning: there is the header of
    a weight file, whose metadata anybody can fill.

    Raises OSError if it cannot be read.
    """
    with open_regular(path) as file:
        return find(read_up_to(file, _SIZE_LIMIT), known)


def refusal(place: str, kind: str) -> ReleaseRefusedError:
    """The error for a credential in ``place``."""
    return ReleaseRefusedError(
        f"{place} holds {kind}",
        hint="remove it from the file, and revoke it: it may have been copied already",
    )
