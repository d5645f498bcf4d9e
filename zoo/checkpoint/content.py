"""What a file that should hold weights or JSON really is, told from its first bytes and its size.

Most broken checkpoints are not corrupt: they are another file. A clone without Git LFS leaves pointers, a
failed download leaves an HTML page or a JSON error, a renamed ``pytorch_model.bin`` is a pickle. Saying so,
with the command that mends it, beats "invalid header". Nothing is decoded or executed here.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

SNIFFED_BYTES = 512  # an LFS pointer has about 130 bytes; HTML and JSON show themselves sooner

_DOWNLOAD = "fetch the file again: hf download OWNER/NAME --local-dir FOLDER"
_CONVERT = "convert it where it was trained, with safetensors.torch.save_file, and release only that file"
_LFS_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e]+")


class Content(NamedTuple):
    """What a file turned out to be: a rule ``code``, a noun phrase, and the ``hint`` that mends it."""

    code: str
    what: str
    hint: str


def identify(head: bytes, size: int) -> Content | None:
    """Recognise the content of a file from ``head``, its first :data:`SNIFFED_BYTES` (or all of it), and
    ``size`` in bytes. None if it is none of the known impostors."""
    if size == 0:
        return Content("F016", "an empty file", _DOWNLOAD)
    if head.startswith((b"version https://git-lfs", b"version https://hawser")):
        return _lfs_pointer(head)
    if head.startswith(b"PK\x03\x04"):
        return Content("F012", "a zip archive, as torch.save writes it (a pickle inside)", _CONVERT)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return Content("F012", "a Python pickle, which runs code when it is loaded", _CONVERT)
    if head.startswith(b"GGUF"):
        hint = "release the safetensors checkpoint that the GGUF file was converted from"
        return Content("F013", "a GGUF file, the format of llama.cpp", hint)
    if head.startswith(b"\x1f\x8b"):
        hint = "unpack it (gunzip), or fetch it again without a Content-Encoding"
        return Content("F015", "gzip-compressed data", hint)
    if len(head) >= 16 and not any(head):
        what = f"zero bytes (its first {len(head)} at least)"
        return Content("F017", what, f"the space was reserved and never written; {_DOWNLOAD}")
    return _text(head)


def program(head: bytes) -> str | None:
    """What runs code, or may run it when it is loaded, from its first bytes: a pickle, an archive of
    ``torch.save`` or Keras, a compiled program. A pickle of the old protocols 0 and 1 has no mark."""
    if head.startswith(b"\x7fELF"):
        return "a compiled program"
    content = identify(head, len(head))
    return content.what if content is not None and content.code == "F012" else None


def _lfs_pointer(head: bytes) -> Content:
    found = _LFS_SIZE.search(head)
    size = f" to a file of {int(found[1]):,} bytes" if found else ""
    hint = "in the clone run: git lfs pull; or use: hf download OWNER/NAME --local-dir FOLDER"
    return Content("F010", f"a Git LFS pointer{size}", hint)


def _text(head: bytes) -> Content | None:
    if not _TEXT.fullmatch(head):
        return None
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        return Content("F011", "an HTML or XML page", f"a login or error page was saved; {_DOWNLOAD}")
    if start.startswith((b"{", b"[")):
        return Content("F014", "a JSON text, such as the error answer of a server", _DOWNLOAD)
    return Content("F018", "plain text, such as the error answer of a server", _DOWNLOAD)


def open_regular(path: Path) -> BinaryIO:
    """Open ``path`` for reading, unbuffered, so that not a byte more is read than was asked for.

    Raises OSError, also if the path is no regular file any more: a FIFO that was swapped in must not block.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb", buffering=0)


def read_up_to(file: BinaryIO, count: int) -> bytes:
    """The next ``count`` bytes of an unbuffered ``file``, fewer only at its end."""
    parts = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
