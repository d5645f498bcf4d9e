"""What the tests of serving share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.smoke.forked import Forker
from tests.smoke.reference_kit import Engine, broken_copy, forked_engine, zeroed_fc


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a server that starts more often than users need it: a start takes 0.1 s here, not minutes."""
    monkeypatch.setattr("zoo.smoke.readiness._PAUSE_S", 0.02)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Engine]]:
    """``engine(draft, *flags)``: a running reference engine, one for each draft and flags, to the end of the
    run. ``engine(None)`` serves the target alone. Who stops one must start one: ``reference_engine``."""
    pytest.importorskip("transformers", reason="needs the torch extra")
    folder = tmp_path_factory.mktemp("engines")
    running: dict[tuple[str, ...], Engine] = {}
    with Forker() as forker:

        def get(draft: Path | None, *flags: str) -> Engine:
            key = (str(draft), *flags)
            if key not in running:
                log = folder / f"{len(running)}.log"
                running[key] = forked_engine(forker, log, draft, *flags)
            return running[key]

        yield get


@pytest.fixture(scope="session")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny draft with fc zeroed: it loads, and has next to nothing accepted."""
    pytest.importorskip("torch", reason="needs the torch extra")
    return broken_copy(tmp_path_factory.mktemp("dead") / "zero-fc", zeroed_fc)
