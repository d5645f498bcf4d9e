"""The copy that is served: of a folder with everything in it that must not be."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.kit import good_draft, sharded_draft
from tests.public_configs import CONFIGS
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.model import Checkpoint
from zoo.errors import UsageError
from zoo.smoke import draft_copy
from zoo.smoke.draft_copy import NoRoomError, sanitised, served_copy


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    folder = tmp_path / "draft"
    folder.mkdir()
    good_draft(folder)
    return folder


def opened(folder: Path) -> Checkpoint:
    return open_checkpoint(folder, str(folder))


def config_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return document


def test_the_copy_has_the_same_config_and_the_same_bytes_and_takes_no_space(
    draft: Path, tmp_path: Path
) -> None:
    with served_copy(opened(draft), under=tmp_path) as copy:
        assert config_of(copy) == config_of(draft)
        assert (copy / "model.safetensors").samefile(draft / "model.safetensors")
        assert opened(copy).tensors.keys() == opened(draft).tensors.keys()
    assert not copy.exists()
    assert (draft / "model.safetensors").exists()


def test_only_this_user_may_enter(draft: Path, tmp_path: Path) -> None:
    with served_copy(opened(draft), under=tmp_path) as copy:
        assert stat.S_IMODE(copy.stat().st_mode) == 0o700


def test_code_and_keys_that_no_engine_reads_stay_behind(draft: Path, tmp_path: Path) -> None:
    config = config_of(draft)
    config |= {"auto_map": {"AutoConfig": "evil.Config"}, "run_me": "rm -rf /", "torch_dtype": "bfloat16"}
    config["dflash_config"] = {**config.get("dflash_config", {}), "auto_map": {}, "note": "x"}
    config["text_config"] = {"hidden_size": 64, "sub": [{"auto_map": {"AutoModel": "evil.Model"}}]}
    (draft / "config.json").write_text(json.dumps(config))
    (draft / "evil.py").write_text("raise SystemExit('run')")
    (draft / "mask_embedding.pt").write_bytes(b"\x80\x02pickle")
    (draft / "tokenizer.json").write_text("{}")
    with served_copy(opened(draft), under=tmp_path) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["config.json", "model.safetensors"]
        text = (copy / "config.json").read_text()
        assert "auto_map" not in text
        assert "evil" not in text
        assert "run_me" not in text
        assert "note" not in config_of(copy)["dflash_config"]
        assert config_of(copy)["torch_dtype"] == "bfloat16"


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_no_public_draft_loses_a_key(name: str) -> None:
    config = CONFIGS[name]
    assert sanitised(config) == config


def test_weights_that_the_recipe_does_not_declare_stay_behind(draft: Path, tmp_path: Path) -> None:
    shutil.copyfile(draft / "model.safetensors", draft / "other.safetensors")
    declared = {"model.safetensors": "weights", "config.json": "config", "other.safetensors": "document"}
    with served_copy(opened(draft), declared=declared, under=tmp_path) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["config.json", "model.safetensors"]


def test_shards_come_with_their_index_and_without_a_stray(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir()
    sharded_draft(draft)
    shards = sorted(path.name for path in draft.glob("*.safetensors"))
    shutil.copyfile(draft / shards[0], draft / "stray.safetensors")
    with served_copy(opened(draft), under=tmp_path) as copy:
        names = sorted(path.name for path in copy.iterdir())
        assert names == sorted(["config.json", "model.safetensors.index.json", *shards])


def test_a_link_of_a_hub_cache_becomes_its_file(draft: Path, tmp_path: Path) -> None:
    repository = tmp_path / "models--owner--name"
    blob, snapshot = repository / "blobs" / "abc", repository / "snapshots" / ("0" * 40)
    blob.parent.mkdir(parents=True)
    snapshot.parent.mkdir()
    draft.rename(snapshot)
    (snapshot / "model.safetensors").rename(blob)
    (snapshot / "model.safetensors").symlink_to("../../blobs/abc")
    with served_copy(opened(snapshot), under=tmp_path) as copy:
        assert not (copy / "model.safetensors").is_symlink()
        assert (copy / "model.safetensors").samefile(blob)


def other_disk() -> Path:
    """A folder on another file system than /tmp, so that no hard link can be made."""
    for place in (Path("/dev/shm"), Path("/var/tmp"), Path.home()):
        if place.is_dir() and os.access(place, os.W_OK):
            return place
    pytest.skip("no other file system to write to")


def test_on_another_disk_the_weights_are_copied(draft: Path) -> None:
    place = other_disk()
    if place.stat().st_dev == draft.stat().st_dev:
        pytest.skip("one file system only")
    with served_copy(opened(draft), under=place) as copy:
        assert (copy / "model.safetensors").stat().st_nlink == 1
        assert (copy / "model.safetensors").read_bytes() == (draft / "model.safetensors").read_bytes()
    assert not copy.exists()


def test_a_copy_that_does_not_fit_is_not_begun(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = other_disk()
    if place.stat().st_dev == draft.stat().st_dev:
        pytest.skip("one file system only")
    monkeypatch.setattr(draft_copy, "_ROOM", 1 << 60)
    with pytest.raises(NoRoomError, match="no room in") as error, served_copy(opened(draft), under=place):
        pass
    assert "hard links" in error.value.hint
    assert not list(place.glob("zoo-draft-*"))


def test_a_missing_file_is_an_error_of_its_own_and_leaves_nothing(draft: Path, tmp_path: Path) -> None:
    checkpoint = opened(draft)
    (draft / "model.safetensors").unlink()
    with (
        pytest.raises(OSError, match=r"model\.safetensors") as error,
        served_copy(checkpoint, under=tmp_path),
    ):
        pass
    assert error.value.errno == errno.ENOENT
    assert not list(tmp_path.glob("zoo-draft-*"))


def test_a_draft_without_config_or_weights_cannot_be_served(draft: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="no weights that the recipe declares"),
        served_copy(opened(draft), declared={}, under=tmp_path),
    ):
        pass
    (draft / "config.json").unlink()
    with (
        pytest.raises(UsageError, match=r"no config\.json that can be read"),
        served_copy(opened(draft), under=tmp_path),
    ):
        pass
