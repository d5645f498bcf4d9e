"""What a deep pass found is used again for the very same state of a file, and for no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.kit import good_draft
from zoo.checkpoint import scan as scans
from zoo.checkpoint.cache import ScanCache
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.scan import DeepPass, Scan, scan_checkpoint

WEIGHTS = "model.safetensors"
LONG_AGO = 1_000_000_000


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A draft whose files were written long ago, as far as the cache is told: no test waits for a clock."""
    good_draft(tmp_path / "draft")
    monkeypatch.setattr("zoo.checkpoint.cache._TICK_NS", -(10**12))
    return tmp_path / "draft"


def scan(folder: Path, cache: Path, *, stats: bool = False) -> tuple[Scan, int]:
    """The scan, and the bytes of tensors that were read for it."""
    read: list[int] = []
    checkpoint = open_checkpoint(folder, "it")
    how = DeepPass(read.append, stats, ScanCache(cache))
    return scan_checkpoint(checkpoint, [WEIGHTS], how), sum(read)


def test_an_unchanged_file_is_not_read_again(draft: Path, tmp_path: Path) -> None:
    first, read = scan(draft, tmp_path / "cache")
    again, read_again = scan(draft, tmp_path / "cache")
    assert read > 0
    assert read_again == 0
    assert again == first


def test_another_state_of_the_file_is_read(draft: Path, tmp_path: Path) -> None:
    first, _ = scan(draft, tmp_path / "cache")
    file = draft / WEIGHTS
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    stat = file.stat()
    file.write_bytes(raw)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the ctime cannot be put back
    again, read = scan(draft, tmp_path / "cache")
    assert read > 0
    assert again.files[WEIGHTS].sha256 != first.files[WEIGHTS].sha256


def test_a_pass_with_statistics_serves_one_without_and_not_the_reverse(draft: Path, tmp_path: Path) -> None:
    scan(draft, tmp_path / "cache")
    with_stats, read = scan(draft, tmp_path / "cache", stats=True)
    assert read > 0
    assert with_stats.tensors["fc.weight"].moments is not None
    (tmp_path / "cache2").mkdir()
    scan(draft, tmp_path / "cache2", stats=True)
    assert scan(draft, tmp_path / "cache2")[1] == 0


def test_a_file_that_was_just_written_is_not_kept(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    os.utime(tmp_path / "draft" / WEIGHTS, (LONG_AGO, LONG_AGO))  # its ctime is now all the same
    scan(tmp_path / "draft", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_may_write_to_is_not_believed(draft: Path, tmp_path: Path, mode: int) -> None:
    scan(draft, tmp_path / "cache")
    (tmp_path / "cache").chmod(mode)
    assert scan(draft, tmp_path / "cache")[1] > 0


def test_one_changed_digit_in_an_entry_counts_for_nothing(draft: Path, tmp_path: Path) -> None:
    first, _ = scan(draft, tmp_path / "cache")
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes().replace(b'"nan": 0', b'"nan": 1'))
    again, read = scan(draft, tmp_path / "cache")
    assert read > 0
    assert again == first


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, '{"file": {}, "tensors": 3}', "\n{}"])
def test_a_damaged_entry_counts_for_nothing(draft: Path, tmp_path: Path, content: str) -> None:
    first, _ = scan(draft, tmp_path / "cache")
    for entry in (tmp_path / "cache").iterdir():
        entry.write_text(content)
    again, read = scan(draft, tmp_path / "cache")
    assert read > 0
    assert again == first


def test_a_folder_that_cannot_be_written_is_no_error(draft: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert scan(draft, tmp_path / "cache")[1] > 0


def test_entries_do_not_pile_up(draft: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.checkpoint.cache._KEPT", 2)
    for turn in range(5):
        os.utime(draft / WEIGHTS, (LONG_AGO + turn, LONG_AGO + turn))
        scan(draft, tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_the_cache_is_private(draft: Path, tmp_path: Path) -> None:
    scan(draft, tmp_path / "cache")
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_a_worker_that_fails_stops_the_pass(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(scans.Gatherer, "add", fail)
    checkpoint = open_checkpoint(draft, "it")
    with pytest.raises(ZeroDivisionError):
        scan_checkpoint(checkpoint, checkpoint.files)


def test_an_interrupted_pass_leaves_no_thread(draft: Path) -> None:
    import threading

    before = threading.active_count()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    checkpoint = open_checkpoint(draft, "it")
    with pytest.raises(KeyboardInterrupt):
        scan_checkpoint(checkpoint, checkpoint.files, DeepPass(progress=interrupt))
    assert threading.active_count() == before
