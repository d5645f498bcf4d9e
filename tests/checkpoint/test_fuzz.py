"""20,000 mutated headers: no exception, and nothing accepted that the safetensors library refuses."""

from __future__ import annotations

import pytest

from tests.checkpoint.fuzz import files, run


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_nothing_is_accepted_that_the_library_refuses(seed: int) -> None:
    found = run(seed, 5_000)
    # The mutations are worth something: some files are still good, and most are not.
    assert 500 < found[True, True] < 2_500
    assert found[False, False] > 2_500


def test_a_seed_always_gives_the_same_files() -> None:
    assert list(files(7, 50)) == list(files(7, 50))
