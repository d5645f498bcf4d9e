"""Reading the flags of an engine from a released wheel, with ``ast`` alone: nothing of it is imported.

One file per engine says where its options are declared; :mod:`.static` follows the few functions that add
them, :mod:`.hints` reads type annotations, :mod:`.arguments` turns one ``add_argument`` into an option.
"""

from __future__ import annotations

from pathlib import Path

from zoo.engines.extract import sglang, vllm
from zoo.engines.extract.source import LayoutError, Source
from zoo.engines.options import Snapshot
from zoo.errors import UsageError
from zoo.printable import quoted

__all__ = ["ENGINES", "GENERATOR", "LayoutError", "extract"]

# Raised whenever the same wheel would give another snapshot.
GENERATOR = "zoo engines snapshot 1"
ENGINES = {"sglang": sglang.options, "vllm": vllm.options}


def extract(engine: str, path: Path) -> Snapshot:
    """The flags of ``engine`` in a wheel file or an unpacked folder.

    Raises:
        UsageError: there is no generator for this engine.
        UnreadableError: the path holds no release of it.
        LayoutError: the release is laid out in a way that the generator does not know.
    """
    if engine not in ENGINES:
        raise UsageError(f"no generator reads {quoted(engine)}", hint=f"known: {', '.join(ENGINES)}")
    source = Source(path)
    version = source.version(engine)
    return Snapshot(engine, version, GENERATOR, ENGINES[engine](source), source=path.name)
