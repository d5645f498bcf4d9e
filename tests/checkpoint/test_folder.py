"""Opening a folder: what stops the command, what is a finding, and what is left alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.corpus.kit import WEIGHTS, edit_index, good_draft, save, sharded_draft
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.listing import list_files
from zoo.checkpoint.safetensors import read_header
from zoo.errors import UnreadableError


def codes(root: Path) -> list[str]:
    return sorted(finding.code for finding in open_checkpoint(root, "draft").findings)


def test_a_good_draft_opens_without_a_finding(tmp_path: Path) -> None:
    good_draft(tmp_path)
    checkpoint = open_checkpoint(tmp_path, "draft")
    assert checkpoint.findings == ()
    assert list(checkpoint.files) == ["config.json", WEIGHTS]
    assert checkpoint.config is not None
    assert checkpoint.config["block_size"] == 8
    assert checkpoint.index is None
    assert len(checkpoint.tensors) == 25
    assert checkpoint.file_of["fc.weight"] == WEIGHTS


def test_the_shards_that_the_index_does_not_name_are_not_among_the_weights(tmp_path: Path) -> None:
    sharded_draft(tmp_path)
    save(tmp_path / "extra.safetensors", {"fc.weight": ("U8", (1,), b"\0")})
    checkpoint = open_checkpoint(tmp_path, "draft")
    assert [file.name for file in checkpoint.weights] == [
        f"model-0000{n}-of-00002.safetensors" for n in (1, 2)
    ]
    assert checkpoint.tensors["fc.weight"].dtype == "BF16"
    assert [finding.code for finding in checkpoint.findings] == ["F205"]


def test_a_shard_that_is_broken_is_not_called_missing_as_well(tmp_path: Path) -> None:
    sharded_draft(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(b"")
    assert codes(tmp_path) == ["F016"]


def test_a_shard_that_must_not_be_read_is_not_called_missing_as_well(tmp_path: Path) -> None:
    sharded_draft(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    os.mkfifo(tmp_path / "model-00002-of-00002.safetensors")
    assert codes(tmp_path) == ["X002"]


def test_a_hundred_thousand_lies_of_an_index_are_a_few_findings(tmp_path: Path) -> None:
    sharded_draft(tmp_path)
    lies = {f"x{number}": "model-00001-of-00002.safetensors" for number in range(100_000)}
    edit_index(tmp_path, lambda index: index["weight_map"].update(lies))
    findings = open_checkpoint(tmp_path, "draft").findings
    assert {finding.code for finding in findings} == {"F206"}
    assert "99,990 more" in findings[-1].message


@pytest.mark.parametrize("name", ["missing", "file", "file/below", "loop", "nul\0", "x" * 300])
def test_a_folder_that_is_none_stops_the_command_with_a_next_step(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnreadableError) as raised:
        open_checkpoint(tmp_path / name, name)
    assert raised.value.exit_status == 2
    assert raised.value.hint
    assert raised.value.message.isprintable()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_stops_the_command(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir(mode=0)
    with pytest.raises(UnreadableError, match="may not be read"):
        open_checkpoint(tmp_path / "draft", "draft")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_and_a_folder_below_without_permission_are_findings(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / WEIGHTS).chmod(0)
    (tmp_path / "below").mkdir(mode=0)
    assert codes(tmp_path) == ["F006", "F006"]


def test_a_weights_file_that_vanished_meanwhile_is_a_finding(tmp_path: Path) -> None:
    header, (finding,) = read_header(tmp_path / "absent.safetensors", "absent.safetensors")
    assert header is None
    assert finding.code == "F006"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    good_draft(tmp_path / "draft")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "draft" / "notes").symlink_to(tmp_path / "secret")
    checkpoint = open_checkpoint(tmp_path / "draft", "draft")
    assert "notes" not in checkpoint.files
    assert [finding.code for finding in checkpoint.findings] == ["X001"]


def test_links_into_blobs_are_followed_in_a_snapshot_of_the_hub_cache_only(tmp_path: Path) -> None:
    for cache, kind, expected in (
        ("models--owner--name", "snapshots", []),
        ("a-copy-of-a-cache", "snapshots", []),
        ("elsewhere", "releases", ["X001", "X001"]),
    ):
        snapshot = tmp_path / cache / kind / "0123abcd"
        snapshot.mkdir(parents=True)
        good_draft(tmp_path / cache / "blobs")
        for name in ("config.json", WEIGHTS):
            (snapshot / name).symlink_to(f"../../blobs/{name}")
        assert codes(snapshot) == expected


def test_a_link_of_a_snapshot_into_another_repository_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    good_draft(tmp_path / "models--other--private" / "blobs")
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "0123abcd"
    good_draft(snapshot)
    (snapshot / "notes").symlink_to("../../../models--other--private/blobs/config.json")
    assert codes(snapshot) == ["X001"]


def test_a_socket_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has a limit of about 100 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("door")
        listing = list_files(tmp_path)
    assert [finding.code for finding in listing.findings] == ["X002"]
    assert listing.files == {}


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"notes-\xff")).write_text("")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    listing = list_files(tmp_path)
    assert [finding.code for finding in listing.findings] == ["X004"]
    assert all(finding.message.isprintable() for finding in listing.findings)


def test_files_below_are_listed_with_posix_paths_in_order(tmp_path: Path) -> None:
    for name in ("b/c.txt", "a.txt", "b/a/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("abc")
    assert list_files(tmp_path).files == {"a.txt": 3, "b/a/d.txt": 3, "b/c.txt": 3}


def test_state_of_git_and_of_downloads_is_not_part_of_a_checkpoint(tmp_path: Path) -> None:
    for name in (".git/config", ".cache/huggingface/x", ".cache/other"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert list(list_files(tmp_path).files) == [".cache/other"]


def test_weights_of_another_format_are_named_where_safetensors_are_missing(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / WEIGHTS).rename(tmp_path / "pytorch_model.bin")
    (finding,) = (each for each in open_checkpoint(tmp_path, "draft").findings if each.code == "F001")
    assert finding.message == 'the folder has no *.safetensors file, but "pytorch_model.bin"'


def test_a_syntax_error_of_config_json_says_to_mend_that_place(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / "config.json").write_text('{"a": 1,}')
    (finding,) = open_checkpoint(tmp_path, "draft").findings
    assert (finding.code, finding.hint, finding.where.line) == ("C002", "mend the JSON at this place", 1)
