"""What a file really is, when it is not what its name says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zoo.checkpoint.content import identify, open_regular
from zoo.checkpoint.safetensors import read_header


def test_an_lfs_pointer_tells_the_size_that_is_missing_and_how_to_get_it() -> None:
    head = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 6958554112\n"
    content = identify(head, len(head))
    assert content is not None
    assert content.code == "F010"
    assert "6,958,554,112 bytes" in content.what
    assert "git lfs pull" in content.hint
    assert "hf download" in content.hint


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"", "F016"),
        (b"<HTML>", "F011"),
        (b"\n <!doctype html>", "F011"),
        (b"PK\x03\x04", "F012"),
        (b"\x80\x02}q\x00.", "F012"),
        (b"GGUF\x03\0\0\0", "F013"),
        (b'[{"error": 1}]', "F014"),
        (b"\x1f\x8b\x08\0", "F015"),
        (bytes(512), "F017"),
        (b"Access denied", "F018"),
    ],
)
def test_an_impostor_is_known_by_its_first_bytes(head: bytes, code: str) -> None:
    content = identify(head, len(head))
    assert content is not None
    assert content.code == code
    assert content.hint


@pytest.mark.parametrize("head", [b"\x40\0\0\0\0\0\0\0{", b"\xff\xfe\0\0", b"\x80\x99"])
def test_other_bytes_are_not_guessed_at(head: bytes) -> None:
    assert identify(head, len(head)) is None


def test_a_header_whose_length_looks_like_a_pickle_is_read_as_a_header(tmp_path: Path) -> None:
    # 0x0280 bytes of header: the file starts with \x80\x02, as a pickle does.
    text = b'{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'.ljust(0x0280)
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text + b"\0")
    header, findings = read_header(tmp_path / "x", "x")
    assert header is not None
    assert findings == ()


def test_a_fifo_is_refused_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "fifo")
