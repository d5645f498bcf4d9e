"""Stand-ins: exact, fast, honest, and never half written."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import zoo.standin as standins
from tests.conftest import Ran
from tests.release.tiny_zoo import make_zoo
from zoo import aside
from zoo.errors import UsageError
from zoo.recipe.config import config_of, inventory_of
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.standin import Fill, write_standin
from zoo.workspace import Zoo, find_zoo

KIMI_BYTES = 6_958_554_112


@pytest.fixture
def tiny(tmp_path: Path) -> Recipe:
    make_zoo(tmp_path / "zoo")
    return usable_recipe(find_zoo(tmp_path / "zoo"), "tiny")


def with_files(recipe_root: Path, files: str) -> Recipe:
    path = recipe_root / "recipes" / "tiny.yaml"
    head, _, rest = path.read_text().partition("  files:\n")
    path.write_text(head + "  files:\n" + files + rest[rest.index("draft:") :])
    return usable_recipe(find_zoo(recipe_root), "tiny")


def test_kimi_is_written_sparse_in_well_under_a_second_with_every_tensor(here: Zoo, tmp_path: Path) -> None:
    recipe, out = usable_recipe(here, "kimi-ft-v3"), tmp_path / "kimi"
    start = time.perf_counter()
    written = write_standin(recipe, out)
    assert time.perf_counter() - start < 0.5
    assert (written.tensors, written.nbytes) == (69, KIMI_BYTES)
    assert sum(path.stat().st_blocks for path in out.iterdir()) * 512 < 1024 * 1024
    with safe_open(out / "model.safetensors", "numpy") as file:
        assert sorted(file.keys()) == sorted(inventory_of(recipe))
        assert file.get_slice("fc.weight").get_shape() == [7168, 6 * 7168]
        assert file.metadata()["draft_zoo_standin"].startswith("kimi-ft-v3 1.0.0")
    assert json.loads((out / "config.json").read_text()) == config_of(recipe)


@pytest.mark.parametrize("fill", list(Fill))
def test_a_stand_in_passes_verification_with_the_one_warning_that_it_is_one(
    tiny: Recipe, tmp_path: Path, fill: Fill, run_zoo: Callable[..., Ran]
) -> None:
    out = tmp_path / "out"
    write_standin(tiny, out, fill)
    ran = run_zoo("--zoo", tmp_path / "zoo", "verify", "tiny", "--checkpoint", out)
    assert ran.status == 0, ran.out
    assert "D004" in ran.out


@pytest.mark.torch
def test_random_numbers_are_normal_seeded_and_norms_are_around_one(tiny: Recipe, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write_standin(tiny, one, Fill.RANDOM)
    write_standin(tiny, other, Fill.RANDOM)
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    torch = pytest.importorskip("torch")
    with safe_open(one / "model.safetensors", "pt") as file:
        fc, norm = file.get_tensor("fc.weight"), file.get_tensor("norm.weight")
        up = [file.get_tensor(f"layers.{i}.mlp.up_proj.weight") for i in range(2)]
    assert fc.dtype == torch.bfloat16
    assert abs(fc.float().std().item() - 0.02) < 0.001
    assert abs(fc.float().mean().item()) < 0.001
    assert abs(norm.float().mean().item() - 1) < 0.02
    assert not torch.equal(*up)


@pytest.mark.torch
def test_bfloat16_is_rounded_to_nearest_even_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    upper = np.arange(0, 0x7F80, dtype="<u4") << 16
    numbers = np.concatenate([upper | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).view("<f4")
    numbers = np.concatenate([numbers, -numbers])
    exact = torch.from_numpy(numbers).bfloat16()
    assert torch.equal(exact.view(torch.int16), torch.from_numpy(standins.bfloat16(numbers).view("<i2")))


def test_several_shards_get_an_index_and_every_tensor_once(
    tiny: Recipe, tmp_path: Path, run_zoo: Callable[..., Ran]
) -> None:
    recipe = with_files(
        tmp_path / "zoo",
        "    model-00001-of-00002.safetensors: weights\n    model-00002-of-00002.safetensors: weights\n"
        "    model.safetensors.index.json: index\n    config.json: config\n    tokenizer.json: tokenizer\n"
        "    docs/usage.md: document\n",
    )
    out = tmp_path / "out"
    write_standin(recipe, out)
    sizes = [path.stat().st_size for path in sorted(out.glob("*.safetensors"))]
    assert len(sizes) == 2
    assert max(sizes) < 2 * min(sizes)
    assert json.loads((out / "tokenizer.json").read_text()) == {}
    assert "Placeholder" in (out / "docs" / "usage.md").read_text()
    ran = run_zoo("--zoo", tmp_path / "zoo", "verify", "tiny", "--checkpoint", out)
    assert ran.status == 0, ran.out


def test_a_placeholder_pdf_has_an_exact_cross_reference_table() -> None:
    pdf = standins._PDF
    assert pdf.startswith(b"%PDF-1.4\n")
    start = int(pdf.split(b"startxref\n")[1].split()[0])
    entries = pdf[start:].splitlines()[3:6]
    assert pdf[start : start + 4] == b"xref"
    for number, entry in enumerate(entries, start=1):
        assert pdf[int(entry[:10]) :].startswith(b"%d 0 obj" % number)


@pytest.mark.parametrize("what", ["a file in it", "a file"])
def test_a_place_that_holds_something_is_refused_and_left_alone(
    tiny: Recipe, tmp_path: Path, what: str
) -> None:
    out = tmp_path / "out"
    if what == "a file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")
    with pytest.raises(UsageError):
        write_standin(tiny, out)
    assert (out if what == "a file" else out / "mine").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "zoo"]


@pytest.mark.parametrize("where", ["sub", "sub/deeper"])
def test_a_stand_in_is_not_written_into_the_real_draft(
    tmp_path: Path, run_zoo: Callable[..., Ran], where: str
) -> None:
    make_zoo(tmp_path / "zoo")
    recipe = usable_recipe(find_zoo(tmp_path / "zoo"), "tiny")
    real = tmp_path / "zoo" / recipe.checkpoint.source
    if not real.is_dir():
        write_standin(recipe, real)
    before = sorted(real.rglob("*"))
    assert before
    ran = run_zoo("--zoo", tmp_path / "zoo", "standin", "tiny", "--out", real / where)
    assert ran.status == 2
    assert "which must stay as it is" in ran.err
    assert sorted(real.rglob("*")) == before


@pytest.mark.parametrize("how", ["empty", "link to empty", "below missing folders"])
def test_a_place_that_is_free_is_used(tiny: Recipe, tmp_path: Path, how: str) -> None:
    out = tmp_path / "a" / "b" / "out"
    if how != "below missing folders":
        (tmp_path / "empty").mkdir()
        out = tmp_path / "empty"
    if how == "link to empty":
        out = tmp_path / "link"
        out.symlink_to("empty")
    write_standin(tiny, out)
    assert (out / "config.json").is_file()


def test_ctrl_c_leaves_nothing_behind(tiny: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(standins, "_placeholder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_standin(tiny, tmp_path / "a" / "b" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["zoo"]


# Stops in the middle, tells that it is there, and waits.
SLOW = """
import sys, time
import zoo.cli, zoo.standin
def wait(*_):
    print("writing", flush=True)
    time.sleep(60)
zoo.standin._write_weights = wait
zoo.cli.main()
"""


def stopped_by(number: int, out: Path, ignored: bool = False) -> int:
    """The return code of a ``zoo standin --out OUT`` that is stopped while it writes."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            SLOW,
            "--zoo",
            str(out.parents[1] / "zoo"),
            "standin",
            "tiny",
            "--out",
            str(out),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=(lambda: signal.signal(number, signal.SIG_IGN)) if ignored else None,
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(number)
        if ignored:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            process.kill()
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_behind_and_is_the_exit_status(
    tiny: Recipe, tmp_path: Path, number: int
) -> None:
    assert stopped_by(number, tmp_path / "place" / "out") == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["zoo"]


def test_under_nohup_a_hangup_stops_nothing(tiny: Recipe, tmp_path: Path) -> None:
    assert stopped_by(signal.SIGHUP, tmp_path / "place" / "out", ignored=True) == -signal.SIGKILL


def test_what_a_killed_command_left_is_removed_by_the_next_and_nothing_else_is(
    tiny: Recipe, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    mine = [".out.20240101", ".out.deadbeef.locks", ".other.deadbeef.lock"]
    for name in mine:
        (place / name).mkdir()
    assert stopped_by(signal.SIGKILL, place / "out") == -signal.SIGKILL
    left = {path.name for path in place.iterdir()} - set(mine)
    assert len(left) == 2
    with aside.built_aside(place / "out") as held:
        assert {path.name for path in place.iterdir()} == {*mine, held.name, f"{held.name}.lock"}
        # While one command writes, another one for the same place leaves its folder alone.
        write_standin(tiny, place / "out")
        assert held.is_dir()
        shutil.rmtree(place / "out")
    assert {path.name for path in place.iterdir()} == {*mine, "out"}


@pytest.mark.parametrize("fill", list(Fill))
def test_a_file_that_cannot_grow_leaves_nothing_behind(tiny: Recipe, tmp_path: Path, fill: Fill) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zoo", "standin", "tiny", "--out", str(tmp_path / "out"), "--fill", fill],
        cwd=tmp_path / "zoo",
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == 2
    assert os.strerror(errno.EFBIG) in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["zoo"]


def test_a_full_disk_leaves_nothing_behind(tiny: Recipe, tmp_path: Path, run_zoo: Callable[..., Ran]) -> None:
    folder = tmp_path / "mount"
    folder.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        args = ("standin", "tiny", "--out", folder / "out", "--fill", "random")
        ran = run_zoo("--zoo", tmp_path / "zoo", *args)
        assert ran.status == 2
        assert os.strerror(errno.ENOSPC) in ran.err
        assert list(folder.iterdir()) == []
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_place_that_cannot_be_made_is_exit_2_and_named(
    tiny: Recipe, tmp_path: Path, run_zoo: Callable[..., Ran]
) -> None:
    ran = run_zoo(
        "--zoo", tmp_path / "zoo", "standin", "tiny", "--out", tmp_path / "zoo" / "zoo.toml" / "out"
    )
    assert ran.status == 2
    assert "zoo.toml" in ran.err
    assert "Traceback" not in ran.err


def test_an_unknown_recipe_is_exit_2_with_a_suggestion(
    tiny: Recipe, tmp_path: Path, run_zoo: Callable[..., Ran]
) -> None:
    ran = run_zoo("--zoo", tmp_path / "zoo", "standin", "tinny", "--out", tmp_path / "out")
    assert ran.status == 2
    assert 'Did you mean "tiny"?' in ran.err


def test_the_folder_has_the_permissions_that_the_person_gives_new_folders(
    tiny: Recipe, tmp_path: Path
) -> None:
    write_standin(tiny, tmp_path / "out")
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode
    shutil.rmtree(tmp_path / "out")
