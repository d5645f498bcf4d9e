"""The table of renamed flags says nothing that the snapshots contradict."""

from __future__ import annotations

import pytest

from zoo.engines.options import snapshot
from zoo.engines.renames import RENAMES, Rename, rename

SGLANG = [each for each in RENAMES if each.engine == "sglang"]


@pytest.mark.parametrize("entry", SGLANG, ids=lambda entry: entry.old)
def test_the_old_flag_is_gone_and_the_new_one_is_there(entry: Rename) -> None:
    before, after = snapshot(entry.engine, entry.last), snapshot(entry.engine, entry.gone)
    assert before is not None
    assert after is not None
    assert before.exact(entry.old)
    assert after.exact(entry.old) is None
    if entry.new is not None:
        name, _, value = entry.new.partition("=")
        option = after.exact(name)
        assert option is not None
        assert not value or value in (option.choices or ())


def test_every_flag_that_is_gone_is_in_the_table() -> None:
    before, after = snapshot("sglang", "0.5.14"), snapshot("sglang", "0.5.23")
    assert before is not None
    assert after is not None
    assert {each.old for each in SGLANG} == before.by_name.keys() - after.by_name.keys()


def test_what_a_deprecated_flag_advises_is_what_the_table_says() -> None:
    before = snapshot("sglang", "0.5.14")
    assert before is not None
    for entry in SGLANG:
        option = before.exact(entry.old)
        assert option is not None
        if entry.new and option.deprecated:
            assert option.deprecated == f"use {entry.new}", entry.old


def test_advice_is_given_to_versions_that_lack_the_flag_only() -> None:
    found = rename("sglang", "0.5.23", "--speculative-dflash-draft-window-size")
    assert found is not None
    assert found.advice == "use --speculative-draft-window-size"
    assert rename("sglang", "0.5.14", "--speculative-dflash-draft-window-size") is None
    assert rename("sglang", "0.5.23", "--tp-size") is None
    assert rename("sglang", "latest", "--torchao-config") is None
