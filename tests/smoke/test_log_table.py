"""Known messages: each is known by its own words, and healthy logs have none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zoo.smoke.log_table import KNOWN, diagnose

HERE = Path(__file__).parent
# As SGLang 0.5.14 wrote it while it served a healthy draft.
HEALTHY = (HERE / "healthy.log").read_bytes().decode()
# One message of each kind as engines write it: the name in the table, a colon, the line.
MESSAGES = dict(line.split(": ", 1) for line in (HERE / "known_messages.txt").read_text().splitlines())


def test_a_healthy_log_has_no_known_message() -> None:
    assert diagnose(HEALTHY, "sglang", "0.5.14") == ()


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_each_message_is_known_by_its_own_words_only(known: object) -> None:
    (found,) = diagnose(f"{HEALTHY}{MESSAGES[known.name]}\n")  # type: ignore[attr-defined]
    assert found.known is known
    assert found.line == MESSAGES[found.known.name]


def test_every_message_has_a_name_of_its_own_and_says_what_to_do() -> None:
    assert sorted(MESSAGES) == sorted(each.name for each in KNOWN)
    for each in KNOWN:
        assert re.compile(each.pattern).search("") is None
        assert each.cause
        assert each.advice
        assert each.source
        assert not each.cause.endswith(".")


def test_case_and_whole_words_count() -> None:
    assert diagnose("dflash block size mismatch: using speculative_num_draft_tokens=4") == ()
    assert diagnose("Falling back to 'flashinfer'.") == ()


def test_the_cause_stands_before_what_wraps_it() -> None:
    log = "\n".join(MESSAGES[name] for name in ("child-crashed", "retracted", "gpu-memory", "fc-width"))
    assert [each.known.name for each in diagnose(log)] == [
        "fc-width",
        "gpu-memory",
        "retracted",
        "child-crashed",
    ]


def test_a_message_that_comes_often_is_counted_and_shown_once() -> None:
    (found,) = diagnose("\n".join([MESSAGES["retracted"]] * 3))
    assert found.count == 3


def test_a_message_behind_a_progress_bar_is_found() -> None:
    (found,) = diagnose(f"\rLoading:  50%|#####     |\r{MESSAGES['greedy-only']}")
    assert found.line == MESSAGES["greedy-only"]
