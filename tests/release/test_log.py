"""Reading a release log that somebody may have changed by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from zoo.errors import UnreadableError
from zoo.release.log import read_log, versions
from zoo.workspace import Zoo

GOOD = b'{"event": "published", "version": "1.0.0-rc.1"}\n'


def test_events_come_in_their_order_and_a_version_counts_once(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert read_log(log) == ()
    log.write_bytes(GOOD + b'{"event": "yanked"}\n{"event": "published", "version": "0.9.0"}\n' + GOOD)
    events = read_log(log)
    assert [event["event"] for event in events] == ["published", "yanked", "published", "published"]
    assert versions(events) == ["1.0.0-rc.1", "0.9.0"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"not json", "Expecting value"),
        (b"[]", "it is not a JSON object"),
        (b"", "Expecting value"),
        (b'{"event": "publ', "Unterminated string"),
        (b'{"event": "\xff"}', "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"event": ' + b"1" * 5000 + b"}", "an integer of thousands of digits"),
        (b'{"event": "published", "version": "1.0.0", "version": "2.0.0"}', "it has a key twice"),
        (b'{"event": 1}', 'it has no "event"'),
        (b'{"event": "published"}', 'its "version" is not'),
        (b'{"event": "published", "version": 1}', 'its "version" is not'),
        (b'{"event": "published", "version": "1.0"}', 'its "version" is not'),
        (b'{"event": "published", "version": "1.0.0\\n"}', 'its "version" is not'),
        (b'{"event": "published", "version": "../../x"}', 'its "version" is not'),
        (b'{"event": "published", "version": "1.0.%s"}' % (b"1" * 200), 'its "version" is not'),
    ],
)
def test_a_damaged_line_is_named_in_the_log_and_by_every_command_that_reads_it(
    new_zoo: Zoo, run_zoo: Callable[..., Ran], line: bytes, expected: str
) -> None:
    folder = new_zoo.release_folder("example-draft")
    folder.mkdir(parents=True)
    (folder / "log.jsonl").write_bytes(GOOD + line + b"\n" + GOOD)
    with pytest.raises(UnreadableError) as caught:
        read_log(folder / "log.jsonl", "the log")
    assert caught.value.message.startswith("the log:2: not an event of a release log: ")
    assert expected in caught.value.message
    ran = run_zoo("--zoo", new_zoo.root, "show", "example-draft")
    assert ran.status == 2
    assert "release/example-draft/log.jsonl:2: " in ran.err
    listed = run_zoo("--zoo", new_zoo.root, "list")
    assert listed.status == 0
    assert "damaged release log; see: zoo show example-draft" in listed.out


@pytest.mark.parametrize("what", ["fifo", "folder", "too large"])
def test_a_log_that_is_no_small_file_is_refused_at_once(tmp_path: Path, what: str) -> None:
    log = tmp_path / "log.jsonl"
    if what == "fifo":
        os.mkfifo(log)
    elif what == "folder":
        log.mkdir()
    else:
        log.touch()
        os.truncate(log, 2**40)
    with pytest.raises(UnreadableError, match=r"log\.jsonl: (cannot be read \(not a regular|larger than)"):
        read_log(log)
