"""What cannot be replayed says so in one line, and knowing that needs no torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from zoo.replay.reference import NoReferenceError, family_with_reference


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architectures": ["DSparkDraftModel"]}, "no reference for this family (DSpark)"),
        ({"architectures": ["DominoDraftModel"]}, "no reference for this family (Domino)"),
        ({"architectures": ["DFlash2DraftModel"]}, "no reference for this family (DFlash2)"),
        ({"architectures": ["PEagleDraftModel"]}, "no reference for this family (P-EAGLE)"),
        ({"architectures": ["LlamaForCausalLMEagle"]}, "no reference for this family (EAGLE-1/2)"),
        ({"architectures": ["NoSuchModel"]}, "no reference for this family: config.json is of no family"),
    ],
)
def test_every_other_family_is_not_checked(config: dict[str, Any], said: str) -> None:
    with pytest.raises(NoReferenceError) as caught:
        family_with_reference(config)
    assert caught.value.message.startswith(f"not checked: {said}")
    assert caught.value.exit_status == 2


def test_the_two_families_are_known() -> None:
    assert family_with_reference({"architectures": ["DFlashDraftModel"]}) == "dflash"
    assert family_with_reference({"architectures": ["LlamaForCausalLMEagle3"]}) == "eagle3"


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, zoo.replay.reference, zoo.replay.acceptance; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
