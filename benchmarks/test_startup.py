"""How long a person waits: the start of the command against importing what it cannot do without."""

from __future__ import annotations

import compileall
import sys
from pathlib import Path
from typing import Any

import pytest

import zoo
from benchmarks.ratios import compare
from zoo.cli import run

REPOSITORY = Path(__file__).parent.parent
ZOO = str(Path(sys.executable).with_name("zoo"))


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Byte-compile the package, as pip does, even where PYTHONDONTWRITEBYTECODE is set."""
    compileall.compile_dir(Path(zoo.__file__).parent, quiet=2)


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kimi") / "standin"
    assert run(["--zoo", str(REPOSITORY), "standin", "kimi-ft-v3", "--out", str(folder)]) == 0
    return folder


def test_help_starts_within_half_again_of_click_and_rich(benchmark: Any) -> None:
    ratio = benchmark.pedantic(
        compare, ([ZOO, "--help"], [sys.executable, "-c", "import click, rich"]), rounds=1, iterations=1
    )
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\nzoo --help: {ratio} of importing click and rich")
    assert ratio.median <= 1.5


def test_verifying_the_kimi_standin_takes_at_most_twice_its_imports(benchmark: Any, standin: Path) -> None:
    ours = [ZOO, "--zoo", str(REPOSITORY), "verify", "kimi-ft-v3", "--checkpoint", str(standin)]
    peer = [sys.executable, "-c", "import click, rich, jsonschema, ruamel.yaml"]
    ratio = benchmark.pedantic(compare, (ours, peer), rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\nzoo verify (header level): {ratio} of importing click, rich, jsonschema and ruamel.yaml")
    assert ratio.median <= 2.0
