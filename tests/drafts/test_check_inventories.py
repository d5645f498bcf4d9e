"""scripts/check_inventories.py finds a difference where there is one."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "check_inventories", REPOSITORY / "scripts" / "check_inventories.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_wrong_shape_and_a_missing_tensor_are_told(script: ModuleType) -> None:
    for case in script.CASES:
        family = next(family for family in script.FAMILIES if family.name == case.family)
        found = {name: (s.dtype, s.shape) for name, s in family.inventory(case.config, script.DTYPE).items()}
        assert script.compare(case, found, case.config)[0]
        norm = next(name for name in found if name.endswith("layernorm.weight"))
        dtype, shape = found[norm]
        for wrong in ((dtype, (*shape, 1)), ("F32", shape)):
            assert not script.compare(case, found | {norm: wrong}, case.config)[0]
        assert not script.compare(case, found | {"surplus.weight": (dtype, shape)}, case.config)[0]
        del found[norm]
        assert script.compare(case, found, case.config) == (False, f"**differs**: missing `{norm}`")


def test_a_package_that_is_not_installed_is_not_run_and_not_equal(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(package: str) -> str:
        raise script.PackageNotFoundError(package)

    monkeypatch.setattr(script, "version", absent)
    fine, line = script.row(script.CASES[0])
    assert fine
    assert "not run: not installed" in line
