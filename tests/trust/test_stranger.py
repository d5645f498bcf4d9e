"""A stranger verifies a signed release: what is as it was signed passes, and any change of it is named."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remote.conftest import online  # noqa: F401
from tests.remote.hub import Folder, serve
from tests.trust.conftest import Keys, Signed, write

LISTED = "README.md config.json manifest.json model.safetensors notes.md report.pdf".split()
LISTED.append("provenance.intoto.jsonl")


def test_a_release_as_it_was_signed_passes_in_a_clean_directory(signed: Signed) -> None:
    ran = signed.verify("--deep")
    assert ran.status == 0, ran.out + ran.err
    assert "signature: tiny@1.0.0 by author.pub, 7 files" in ran.out
    assert "ok  " in ran.out


def test_the_stock_verifier_accepts_the_signature_and_catches_a_change(signed: Signed) -> None:
    argv = ["-m", "model_signing", "verify", "key", signed.folder, "--signature", signed.folder / "model.sig"]
    argv += ["--public_key", signed.author.public]
    stock = subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False)
    assert (stock.returncode, "Verification succeeded" in stock.stdout + stock.stderr) == (0, True)
    write(signed.folder / "notes.md", b"other")
    stock = subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False)
    assert stock.returncode != 0


def test_weights_of_a_folder_that_nobody_has_read_are_not_checked(signed: Signed) -> None:
    ran = signed.verify()
    assert ran.status == 2
    assert 'not checked P002: nobody has read "model.safetensors"; add --deep' in ran.out


def test_without_a_trusted_key_nothing_is_checked(signed: Signed) -> None:
    ran = signed.run("verify", signed.folder, "--signature", "--deep")
    assert ran.status == 2
    assert "not checked P001, P002, P003, P004, P005: no trusted key was given" in ran.out


def test_the_signature_of_somebody_else_does_not_count(signed: Signed, stranger: Keys) -> None:
    ran = signed.verify("--deep", key=stranger.public)
    assert ran.status == 1
    assert 'error P001 "model.sig": the signature does not count: stranger.pub: Key mismatch' in ran.out


def test_files_without_a_signature_are_not_signed(signed: Signed) -> None:
    (signed.folder / "model.sig").unlink()
    assert signed.codes().keys() == {"P001"}


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_one_changed_byte_of_a_file_is_an_error_that_names_it(signed: Signed, name: str, place: str) -> None:
    content = bytearray((signed.folder / name).read_bytes())
    offset = {"first": 0, "middle": len(content) // 2, "last": len(content) - 1}[place]
    content[offset] ^= 1
    write(signed.folder / name, bytes(content))
    found = signed.codes()
    assert any(f'"{name}": it has sha256 ' in message for message in found["P002"])


def test_a_missing_file_and_one_that_nobody_signed_are_errors(signed: Signed) -> None:
    (signed.folder / "notes.md").rename(signed.folder / "extra.md")
    assert sorted(signed.codes()["P002"]) == [
        '"extra.md": it is here, and was not signed',
        '"notes.md": it was signed, and is missing',
    ]


def leaves(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of all plain values in a document, and of empty containers."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = list(children)
    for key, child in found:
        yield from leaves(child, (*path, key))
    if not found:
        yield path


def change(document: Any, path: tuple[str | int, ...]) -> None:
    *parents, last = path
    for key in parents:
        document = document[key]
    value = document[last]
    document[last] = f"{value}x" if isinstance(value, str) else [value]


@pytest.mark.parametrize("name", ["manifest.json", "provenance.intoto.jsonl"])
def test_any_changed_field_of_a_document_is_an_error_that_names_it(signed: Signed, name: str) -> None:
    raw = (signed.folder / name).read_bytes()
    places = list(leaves(json.loads(raw)))
    assert len(places) > 15
    for place in places:
        signed.edit(name, lambda document, place=place: change(document, place))
        ran = signed.verify()
        assert ran.status == 1, place
        assert f'error P002 "{name}": it has sha256' in ran.out, place
        write(signed.folder / name, raw)
    assert signed.verify("--deep").status == 0


def signature_fields(bundle: dict[str, Any]) -> Iterator[tuple[str, Callable[[dict[str, Any]], object]]]:
    """Changes of single fields of a signature: those of the bundle, and those of the statement inside."""
    for place in leaves(bundle):
        yield str(place), lambda document, place=place: change(document, place)
        yield f"without {place}", lambda document, place=place: _drop(document, place)
    statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    for place in leaves(statement):

        def inside(document: dict[str, Any], place: Any = place) -> None:
            changed = json.loads(base64.b64decode(document["dsseEnvelope"]["payload"]))
            change(changed, place)
            text = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
            document["dsseEnvelope"]["payload"] = base64.b64encode(text).decode()

        yield f"statement {place}", inside
    for place in ((), ("dsseEnvelope",), ("verificationMaterial",), ("dsseEnvelope", "signatures", 0)):
        yield f"one more in {place}", lambda document, place=place: _at(document, place).update(x="y")


def _at(document: Any, place: tuple[str | int, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def _drop(document: Any, place: tuple[str | int, ...]) -> None:
    del _at(document, place[:-1])[place[-1]]


def test_any_changed_field_of_the_signature_is_an_error(signed: Signed) -> None:
    raw = (signed.folder / "model.sig").read_bytes()
    changes = list(signature_fields(json.loads(raw)))
    assert len(changes) > 40
    for name, each in changes:
        write(signed.folder / "model.sig", raw)
        signed.edit("model.sig", each)
        ran = signed.verify()
        assert ran.status == 1, name
        assert 'error P001 "model.sig": the signature does not count' in ran.out, name
    write(signed.folder / "model.sig", raw)
    assert signed.verify("--deep").status == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000, b"{}" * 9])
def test_a_signature_that_is_none_is_one_error(signed: Signed, content: bytes) -> None:
    write(signed.folder / "model.sig", content)
    ran = signed.verify()
    assert ran.status == 1
    assert 'error P001 "model.sig"' in ran.out
    assert "Traceback" not in ran.err


def test_a_signature_that_is_a_link_or_too_large_is_refused(signed: Signed, tmp_path: Path) -> None:
    write(signed.folder / "model.sig", b" " * (9 * 1024 * 1024))
    assert signed.codes().keys() == {"P001"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--signature", "--key", "nowhere.pub"], "a key cannot be read from"),
        (["--signature", "--key", "private"], "is a private key, and checking needs the public one"),
        (["--signature", "--key", "config"], "holds neither a public key nor a certificate"),
        (["--signature", "--signer", "alice"], "is not inside a zoo"),
        (["--signature", "--signer", "alice", "--key", "x"], "name one thing twice"),
        (["--key", "x"], "--key, --signer and --identity are about a signature"),
    ],
)
def test_options_that_cannot_be_used_are_exit_2_and_say_what_to_do(
    signed: Signed, options: list[str], said: str
) -> None:
    files = {"private": str(signed.author.private), "config": str(signed.folder / "config.json")}
    ran = signed.run("verify", signed.folder, *[files.get(each, each) for each in options])
    assert ran.status == 2
    assert said in ran.err
    assert "  -> " in ran.err


def test_without_the_library_it_is_not_checked_and_the_message_says_what_to_install(
    signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "model_signing"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "model_signing", None)
    ran = signed.verify()
    assert ran.status == 2
    assert "pip install 'draft-zoo[sign]'" in ran.err


@pytest.mark.usefixtures("online")
def test_a_web_server_that_lists_no_files_is_not_checked(signed: Signed) -> None:
    with serve(Folder(signed.folder)) as server:
        ran = signed.run("verify", f"{server.url}/", "--signature", "--key", signed.author.public)
    assert ran.status == 2, ran.out + ran.err
    assert "not checked P001, P002, P003, P004, P005: a plain web server cannot list its files" in ran.out
