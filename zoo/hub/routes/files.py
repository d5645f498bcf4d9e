"""The bytes of a file: ``/owner/name/resolve/REVISION/PATH``, whole or by range (RFC 9110, section 14)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from zoo.hub.errors import HubError, no_entry
from zoo.hub.http import Call, route
from zoo.hub.rights import downloadable

_CHUNK = 1024 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
# A stored file is data, whatever it claims to be: no browser may run it as a page of this hub.
_INERT = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


def _resolve(call: Call) -> Response:
    repo = downloadable(call)
    commit = repo.resolve(call.path["rev"])
    path = call.path["path"]
    file = repo.tree(commit).files.get(path)
    if file is None:
        raise no_entry("Entry not found")
    etag = f'"{file.lfs.sha256 if file.lfs else file.oid}"'
    headers = {
        "X-Repo-Commit": commit,
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream" if file.lfs else "text/plain; charset=utf-8",
        "Content-Disposition": f"inline; filename*=UTF-8''{quote(path.rpartition('/')[2])}",
        **_INERT,
    }
    if file.lfs:
        headers |= {"X-Linked-Etag": etag, "X-Linked-Size": str(file.size)}
    if call.request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    wanted = call.request.headers.get("range", "")
    if call.request.headers.get("if-range", etag) != etag:
        wanted = ""
    start, end, status = _range(wanted, file.size)
    if status == 206:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    if call.request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    if file.lfs:
        return StreamingResponse(_read(repo.large.path(file.lfs.sha256), start, end), status, headers)
    return Response(repo.blob(file.oid)[start:end], status, headers)


def _range(header: str, size: int) -> tuple[int, int, int]:
    """The first byte, the one after the last, and the status. Several ranges, or other units, are answered
    with the whole file, as the RFC allows.

    Raises HubError 416 if the file has no such bytes.
    """
    match = _RANGE.fullmatch(header.replace(" ", ""))
    if match is None or not any(match.groups()):
        return 0, size, 200
    first, last = match.groups()
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if start >= size or end <= start:
        raise HubError(416, f"The file has {size} bytes")
    return start, end, 206


def _read(path: Path, start: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (chunk := file.read(min(_CHUNK, end - start))):
            start += len(chunk)
            yield chunk


ROUTES = [route(method, "/{owner}/{name}/resolve/{rev}/{path:path}", _resolve) for method in ("GET", "HEAD")]
