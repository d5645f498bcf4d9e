"""Whatever stops a release, no version is ever half visible, and the same command run again finishes the
work."""

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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import zoo.cli
import zoo.release.steps as steps
from tests.release.conftest import Place, Tree
from tests.reliability.kill import KillAt, Launcher, launchers
from zoo.errors import ReleaseRefusedError
from zoo.release.context import Done, Release, Skip
from zoo.release.targets import directory

NAMES = [step.name for step in steps.STEPS]
# A process whose step number `index` is stopped before or after its work, or that waits for the other one
# there.
CHILD = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path
import zoo.cli, zoo.release.steps as steps

# Under nohup and in the background of a script, a process inherits SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
index, when, what, meeting, *args = sys.argv[1:]

def hook():
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    Path(meeting, str(os.getpid())).touch()
    while len(list(Path(meeting).iterdir())) < 2:
        time.sleep(0.01)

def around(run):
    def hooked(release):
        if when == "before":
            hook()
        outcome = run(release)
        if when == "after":
            hook()
        return outcome
    return hooked

chosen = steps.STEPS[int(index)]
steps.STEPS = tuple(replace(step, run=around(step.run)) if step is chosen else step for step in steps.STEPS)
sys.exit(zoo.cli.run(args))
"""


def child(
    place: Place, step: str, when: str, what: str, meeting: Path | None = None, **more: object
) -> subprocess.Popen[str]:
    args = [
        str(NAMES.index(step)),
        when,
        what,
        str(meeting),
        "--zoo",
        str(place.root),
        "release",
        "tiny",
        "--push",
    ]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,  # type: ignore[call-overload]
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def assert_whole_or_absent(place: Place) -> None:
    version = place.published / "tiny" / "1.0.0"
    if version.exists():
        manifest = json.loads((version / "manifest.json").read_bytes())
        assert sorted(contents(version)) == sorted([*(f["path"] for f in manifest["files"]), "manifest.json"])


def assert_converges(place: Place, reference: dict[str, bytes]) -> None:
    ran = place.push()
    assert ran.status == 0, ran.err
    assert contents(place.published) == reference
    assert [path.name for path in place.published.iterdir() if path.name.startswith(".staging")] == []
    assert len((place.root / "release/tiny/log.jsonl").read_text().splitlines()) == 1
    for name in ("README.md", "notes.md", "manifest.json"):
        recorded = place.root / "release/tiny/1.0.0" / name
        assert recorded.read_bytes() == reference[f"tiny/1.0.0/{name}"]


@pytest.fixture(scope="module")
def reference(_template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an undisturbed release of ``place`` leaves at the target."""
    root = tmp_path_factory.mktemp("undisturbed") / "zoo"
    shutil.copytree(_template, root)
    assert zoo.cli.run(["--zoo", str(root), "release", "tiny", "--push"]) == 0
    return contents(root / "published")


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Runs ``zoo`` in processes that get SIGKILL around a step."""
    with launchers(1, os.environ, tmp_path_factory.mktemp("runs")) as made:
        yield made[0]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", NAMES)
def test_a_release_that_is_killed_around_a_step_is_finished_by_the_next_run(
    place: Place, reference: dict[str, bytes], launcher: Launcher, step: str, when: str
) -> None:
    killed = launcher.run("--zoo", str(place.root), "release", "tiny", "--push", kill=KillAt(step, when))
    assert killed.status == -signal.SIGKILL
    assert_whole_or_absent(place)
    assert_converges(place, reference)


@pytest.fixture
def sigint() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt here, also where the tests themselves run with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", NAMES)
def test_ctrl_c_around_a_step_exits_130_and_leaves_no_staging(
    place: Place, reference: dict[str, bytes], step: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(run: Callable[[Release], Done | Skip]) -> Callable[[Release], Done | Skip]:
        def around(release: Release) -> Done | Skip:
            if when == "before":
                signal.raise_signal(signal.SIGINT)
            outcome = run(release)
            signal.raise_signal(signal.SIGINT)
            return outcome

        return around

    with monkeypatch.context() as patch:
        wrapped = tuple(replace(s, run=interrupted(s.run)) if s.name == step else s for s in steps.STEPS)
        patch.setattr(steps, "STEPS", wrapped)
        ran = place.push()
    assert ran.status == 130
    assert "interrupted" in ran.err
    assert_whole_or_absent(place)
    assert not list(place.published.glob(".staging*"))
    visible = (step, when) in [("tag", "after"), ("record", "before"), ("record", "after")]
    assert (place.published / "tiny/1.0.0").exists() == visible
    assert (published(place) in ran.err) == visible
    assert_converges(place, reference)


def published(place: Place) -> str:
    """What is said when a run stops between tag and record."""
    return f"tiny 1.0.0 IS published at {place.published}/tiny/1.0.0, and this run did not finish its record"


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_on_a_real_process_exits_130(place: Place, ignored: bool) -> None:
    inherited = signal.SIG_IGN if ignored else signal.SIG_DFL
    process = child(
        place,
        "read back",
        "before",
        "interrupt",
        preexec_fn=lambda: signal.signal(signal.SIGINT, inherited),
    )
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert not list(place.published.glob(".staging*"))


class Killed(BaseException):
    """Stands for SIGKILL inside a step: nothing of ours runs after it."""


@pytest.mark.parametrize("call", ["store", "sync_folder", "write_atomically"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_release_that_dies_inside_a_step_is_finished_by_the_next_run(
    place: Place, reference: dict[str, bytes], call: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = getattr(directory, call), []

    def dies(*args: object) -> object:
        calls.append(args)
        if len(calls) == count:
            raise Killed
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(directory, call, dies)
        # A killed process does not clean up; the kernel only drops its locks.
        patch.setattr(directory.shutil, "rmtree", lambda *_, **__: None)
        try:
            place.push()
        except Killed:
            pass
        else:
            assert len(calls) < count
    assert_whole_or_absent(place)
    assert_converges(place, reference)


def test_of_two_releases_at_the_same_time_one_wins_and_the_other_is_told(
    place: Place, reference: dict[str, bytes], tmp_path: Path
) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    both = [child(place, "commit", "before", "meet", meeting) for _ in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], errors
    loser = next(error for process, error in zip(both, errors, strict=True) if process.returncode)
    assert "tiny 1.0.0 was published by somebody else while this release ran" in loser
    assert_whole_or_absent(place)
    assert_converges(place, reference)


def test_two_releases_that_upload_at_the_same_time_do_not_disturb_each_other(
    place: Place, reference: dict[str, bytes], tmp_path: Path
) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    both = [child(place, "upload", "before", "meet", meeting) for _ in range(2)]
    for process in both:
        process.communicate(timeout=60)
    assert sorted(process.returncode for process in both) == [0, 1]
    assert_converges(place, reference)


def test_another_version_that_appears_meanwhile_stops_the_release(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(release: Release) -> Done | Skip:
        (place.published / "tiny/0.9.0").mkdir(parents=True)
        (place.published / "tiny/0.9.0/manifest.json").write_text("{}")
        return steps.publish.commit(release)

    changed = tuple(replace(s, run=meanwhile) if s.name == "commit" else s for s in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", changed)
    ran = place.push()
    assert ran.status == 1
    assert "another version of tiny was published" in ran.err
    assert not (place.published / "tiny/1.0.0").exists()


def test_the_staging_folder_of_a_living_release_is_left_alone(place: Place) -> None:
    place.published.mkdir()
    living, dead = (place.published / f".staging-tiny-1.0.0-{digit * 8}" for digit in "ab")
    other = place.published / ".staging-tiny-1.0.0-rc1-cccccccc"
    for folder in (living, dead, other):
        folder.mkdir()
    lock = directory._locked(directory._lock_of(living))
    assert place.push().status == 0
    os.close(lock)
    assert (living.exists(), dead.exists(), other.exists()) == (True, False, True)


@pytest.mark.parametrize("how", ["published already", "stopped before it commits"])
def test_what_a_dead_release_left_is_removed_whatever_becomes_of_the_next_one(
    place: Place, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Release) -> Done | Skip:
        raise ReleaseRefusedError("no", hint="none")

    if how == "published already":
        assert place.push().status == 0
    else:
        wrapped = tuple(replace(s, run=refused) if s.name == "commit" else s for s in steps.STEPS)
        monkeypatch.setattr(steps, "STEPS", wrapped)
    dead = place.published / ".staging-tiny-1.0.0-dddddddd"
    dead.mkdir(parents=True)
    place.push()
    assert not list(place.published.glob(".staging*"))


def test_an_empty_folder_under_the_version_is_never_replaced(place: Place) -> None:
    (place.published / "tiny/1.0.0").mkdir(parents=True)
    ran = place.push()
    assert ran.status == 2
    assert "holds no manifest.json" in ran.err
    assert list((place.published / "tiny/1.0.0").iterdir()) == []


def test_a_full_disk_is_refused_before_anything_is_copied(place: Place, tmpfs: Callable[[str], Path]) -> None:
    small = tmpfs("size=200k")
    ran = place.push("--to", f"dir:{small}")
    assert ran.status == 2
    assert "bytes free" in ran.err
    assert list(small.iterdir()) == []


def test_a_disk_that_fills_up_while_it_is_copied_to_keeps_nothing(
    place: Place, tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmpfs("size=100k")
    monkeypatch.setattr(directory, "_SPARE_BYTES", -(10**9))
    ran = place.push("--to", f"dir:{small}")
    assert ran.status == 2
    assert os.strerror(errno.ENOSPC) in ran.err
    assert [path.name for path in small.iterdir()] == [".lock"]


def test_a_file_size_limit_keeps_nothing_and_the_next_run_succeeds(
    place: Place, reference: dict[str, bytes]
) -> None:
    process = child(
        place,
        "record",
        "never",
        "kill",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert os.strerror(errno.EFBIG) in err
    assert not list(place.published.glob(".staging*"))
    assert_converges(place, reference)


def test_a_read_only_target_is_refused_before_anything_is_copied(
    place: Place, tmpfs: Callable[[str], Path]
) -> None:
    folder = tmpfs("ro")
    ran = place.push("--to", f"dir:{folder}/below")
    assert ran.status == 2
    assert "cannot be written to" in ran.err


def test_a_target_below_a_file_is_refused(place: Place) -> None:
    ran = place.push("--to", f"dir:{place.root}/zoo.toml/below")
    assert ran.status == 2
    assert "is a file, not a folder" in ran.err


@pytest.mark.parametrize("path", ["release", "release/tiny", "release/tiny/1.0.0", "release/tiny/log.jsonl"])
def test_a_zoo_in_which_a_release_cannot_be_recorded_is_told_before_anything_is_published(
    place: Place, reference: dict[str, bytes], path: str
) -> None:
    in_the_way = place.root / path
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.symlink_to("nowhere")
    ran = place.push()
    assert ran.status == 1
    assert f'"{path}" is a link, and below release/ nothing is read or written through one' in ran.err
    assert "verify" not in ran.out
    assert not place.published.exists()
    dry = place.release()
    assert dry.status == 1
    assert f'"{path}" is a link' in dry.out + dry.err
    in_the_way.unlink()
    assert_converges(place, reference)


def test_a_file_where_the_folder_of_a_release_belongs_is_told_before_anything_is_published(
    place: Place,
) -> None:
    (place.root / "release").mkdir()
    (place.root / "release/tiny").mkdir()
    (place.root / "release/tiny/1.0.0").touch()
    ran = place.push()
    assert ran.status == 2
    assert '"release/tiny/1.0.0" is not a folder, and a release is recorded there' in ran.err
    assert not place.published.exists()
    assert 'would be refused  "release/tiny/1.0.0" is not a folder' in place.release().out


@pytest.mark.parametrize("below", ["", "tiny", "tiny/1.0.0"])
def test_a_read_only_release_folder_is_told_before_anything_is_published(
    place: Place, tmpfs: Callable[..., Path], below: str
) -> None:
    folder = tmpfs("size=1m", place.root / "release")
    (folder / below).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    ran = place.push()
    assert ran.status == 2
    assert "cannot be written to, and a release is recorded there" in ran.err
    assert not place.published.exists()


def test_a_disk_that_is_too_full_for_the_record_says_that_the_version_is_published_and_a_rerun_records(
    place: Place, reference: dict[str, bytes], tmpfs: Callable[..., Path]
) -> None:
    folder = tmpfs("size=4k", place.root / "release")
    ran = place.push()
    assert ran.status == 2
    assert published(place) in ran.err
    assert os.strerror(errno.ENOSPC) in ran.err
    assert "run the same command again" in ran.err
    assert_whole_or_absent(place)
    subprocess.run(["umount", str(folder)], check=True)
    assert_converges(place, reference)


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_index_that_cannot_be_written_after_the_version_is_visible_is_told_as_such(
    place: Place, reference: dict[str, bytes], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "index.json")

    with monkeypatch.context() as patch:
        patch.setattr(directory, "write_atomically", full)
        ran = place.push("--format", form)
    assert ran.status == 2
    assert published(place) in ran.err
    if form == "json":
        document = json.loads(ran.out)
        assert (document["exit"], document["steps"][-1]["name"]) == (2, "tag")
        assert published(place) in document["refusals"][0]["message"]
    assert_converges(place, reference)


def test_a_tag_that_fails_before_its_moment_is_not_told_as_published(
    place: Place, reference: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Release) -> Done | Skip:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(
            steps, "STEPS", tuple(replace(s, run=fails) if s.name == "tag" else s for s in steps.STEPS)
        )
        ran = place.push()
    assert ran.status == 2
    assert "IS published" not in ran.err
    assert not (place.published / "tiny/1.0.0").exists()
    assert_converges(place, reference)


def test_a_reader_that_goes_away_after_the_tag_is_told_on_stderr(
    place: Place, reference: dict[str, bytes], tmp_path: Path
) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    process = child(place, "tag", "before", "meet", meeting)
    while not list(meeting.iterdir()) and process.poll() is None:
        time.sleep(0.01)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    (meeting / "other").touch()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 2, err
    assert published(place) in err
    assert_converges(place, reference)


@pytest.mark.parametrize("step", ["stage", "verify", "seal"])
def test_a_checkpoint_that_changes_during_the_release_is_never_published(
    place: Place, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = place.checkpoint / "model.safetensors"

    def changing(run: Callable[[Release], Done | Skip]) -> Callable[[Release], Done | Skip]:
        def changed(release: Release) -> Done | Skip:
            outcome = run(release)
            content = bytearray(weights.read_bytes())
            content[-2] ^= 1
            time.sleep(0.01)
            weights.write_bytes(content)
            return outcome

        return changed

    wrapped = tuple(replace(s, run=changing(s.run)) if s.name == step else s for s in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", wrapped)
    ran = place.push()
    assert ran.status == 2
    assert "changed" in ran.err
    assert not (place.published / "tiny").exists()


def test_a_rerun_after_a_crash_does_not_touch_other_releases(
    place: Place, tree: Callable[[Path], Tree]
) -> None:
    assert place.push().status == 0
    before = tree(place.published / "tiny/1.0.0")
    place.edit_recipe("version: 1.0.0", "version: 1.0.1")
    process = child(place, "tag", "before", "kill")
    process.communicate(timeout=60)
    assert place.push().status == 0
    assert tree(place.published / "tiny/1.0.0") == before
