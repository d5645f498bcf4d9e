"""Reading the value of a flag."""

from __future__ import annotations

import pytest

from zoo.engines.flags import flag_value, has_flag


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--x", "1"], "1"),
        (["--x=1"], "1"),
        (["--x=a=b"], "a=b"),
        (["--x", "1", "--x", "2"], "2"),
        (["--x=1", "--y", "2", "--x", "3"], "3"),
        (["--y", "2", "--x"], ""),
        (["--x", "--y"], ""),
        (["--x="], ""),
        (["--x", "-1"], "-1"),
        (["--xy", "1"], None),
        ([], None),
    ],
)
def test_a_flag_is_read_as_argparse_reads_it(argv: list[str], expected: str | None) -> None:
    assert flag_value(argv, "--x") == expected
    assert has_flag(argv, "--x") is (expected is not None)


def test_the_last_of_several_spellings_wins() -> None:
    assert flag_value(["--a", "1", "--b", "2"], "--a", "--b") == "2"
