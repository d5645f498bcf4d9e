"""Reading a git repository without running anything that it, or a pull request to it, could name.

No shell, no hooks, no file system monitor, no filter, textconv or external diff, no network, nothing written.
Names of files are taken apart at NUL, as git prints them with -z.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.ci.model import ChangedFile, Kind
from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted

# A file of a zoo is small; one that is larger differs from the base in any way that matters here.
MAX_BYTES = 64 * 1024 * 1024
_SECONDS = 120
_QUIET = (
    "--no-optional-locks",  # git diff would refresh the index
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "safe.bareRepository=explicit",  # files of the zoo that look like a repository are none
    "-c",
    "protocol.allow=never",  # a partial clone would fetch what it lacks
)
_REGULAR = ("100644", "100755")
_SUBMODULE = b"160000 "
_WHOLE = "fetch the whole history: git fetch --unshallow (in a workflow: fetch-depth: 0 of actions/checkout)"
# Bases to try, in this order, where none is given.
_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


class Entry(NamedTuple):
    """A file of a commit: its mode as git prints it, and the id of its content."""

    mode: str
    blob: str

    @property
    def regular(self) -> bool:
        return self.mode in _REGULAR

    def holds(self, content: bytes) -> bool:
        """Whether this is the content, by git's own digest of it."""
        name = "sha1" if len(self.blob) == 40 else "sha256"
        digest = hashlib.new(name, b"blob %d\0" % len(content), usedforsecurity=False)
        digest.update(content)
        return digest.hexdigest() == self.blob


class Base(NamedTuple):
    """What a change is compared with: the name that was given or found, and the commit where the two
    histories part; the empty tree where nothing is committed yet."""

    name: str
    commit: str


@dataclass(frozen=True)
class Repository:
    """The repository of the zoo at ``root``. All paths are relative to ``root``, with slashes."""

    root: Path

    def base(self, ref: str | None) -> Base:
        """Where the history of HEAD left ``ref`` or, without one, the usual main branch.

        Raises:
            UsageError: there is no such commit. UnreadableError: no repository, or no common history.
        """
        if self._text("rev-parse", "--git-dir") is None:
            raise UnreadableError(
                f"{quoted(str(self.root))} is not in a git repository, or git does not trust its owner",
                hint="run it in a clone of the zoo; git says more: git status",
            )
        named = [ref] if ref else list(_BASES)
        name, commit = next(
            ((each, found) for each in named if (found := self._commit(each)) is not None), ("", "")
        )
        if self.head is None and ref == "HEAD":
            return Base("nothing", self._run("hash-object", "-t", "tree", "--stdin").decode().strip())
        if not commit:
            what = f"there is no commit {quoted(ref)}" if ref else "no base was named, and none was found"
            hint = "zoo ci --base REF; fetch it first: git fetch origin BRANCH"
            if self._text("rev-parse", "--is-shallow-repository") == "true\n":
                what, hint = f"{what} in this shallow clone", _WHOLE
            raise UsageError(what, hint=hint)
        if self.head is None:
            raise UnreadableError("the repository has no commit yet", hint="commit the zoo first")
        common = self._text("merge-base", commit, "HEAD")
        if not common:
            raise UnreadableError(
                f"{quoted(name)} and HEAD have no commit in common that is here",
                hint=_WHOLE,
            )
        return Base(name.removeprefix("refs/remotes/"), common.split()[0])

    @cached_property
    def head(self) -> str | None:
        """The commit of HEAD, or None if there is none."""
        return self._commit("HEAD")

    @property
    def prefix(self) -> str:
        """The folder of the zoo in the repository, with a slash at its end; "" for its root."""
        return (self._text("rev-parse", "--show-prefix") or "").removesuffix("\n")

    @cached_property
    def _no_filters(self) -> Mapping[str, str]:
        """Settings under which git runs no filter: the machine may define some (git-lfs), and the attributes
        of a change name the files that git would give to them."""
        keys = map(os.fsdecode, self._run("config", "--list", "--name-only", "-z").split(b"\0"))
        filters = sorted({key.rpartition(".")[0] for key in keys if key.startswith("filter.")})
        off = {"clean": "", "process": "", "required": "false"}
        return {f"{name}.{key}": value for name in filters for key, value in off.items()}

    @property
    def dirty(self) -> bool:
        """Whether the work tree is not that of HEAD."""
        return self.head is not None and bool(self.changed(self.head, self.entries(self.head)))

    def _commit(self, ref: str) -> str | None:
        found = self._text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return found.strip() if found else None

    def above(self, commit: str, *paths: str) -> tuple[ChangedFile, ...]:
        """What :meth:`changed` of ``paths`` of the repository, where the zoo is a folder in it; relative to
        the repository."""
        top = self._text("rev-parse", "--show-toplevel") if self.prefix else None
        if top is None:
            return ()
        repository = Repository(Path(top.removesuffix("\n")))
        return repository.changed(commit, repository.entries(commit, *paths), *paths)

    def entries(self, commit: str, *within: str) -> Mapping[str, Entry]:
        """Every file of ``commit`` below the zoo, or of ``within`` it; links and submodules are there with
        their modes."""
        found = {}
        for line in self._run("ls-tree", "-r", "-z", commit, "--", *(within or (".",))).split(b"\0"):
            if line:
                words, _, path = line.partition(b"\t")
                mode, _, blob = words.decode().split()
                found[os.fsdecode(path)] = Entry(mode, blob)
        return found

    def content(self, entry: Entry) -> bytes:
        """The bytes of a file of a commit.

        Raises UnreadableError: it is too large, or not here.
        """
        if int(self._run("cat-file", "-s", entry.blob)) > MAX_BYTES:
            raise UnreadableError(
                f"a file of the base has more than {MAX_BYTES:,} bytes", hint="keep weights out of git"
            )
        return self._run("cat-file", "blob", entry.blob)

    def changed(self, commit: str, before: Mapping[str, Entry], *within: str) -> tuple[ChangedFile, ...]:
        """What the work tree, or ``within`` it, has otherwise than ``commit``, whose :meth:`entries` are
        ``before``: files that git tracks, and new ones that it does not ignore. By path."""
        places = within or (".",)
        found: dict[str, Kind] = {}
        fields = self._run(
            *("diff-index", "--raw", "-z", "--no-renames", "--ignore-submodules", "--relative", commit),
            *("--", *places),
            settings=self._no_filters,
        ).split(b"\0")
        for path in map(os.fsdecode, fields[1::2]):
            if (kind := self._kind(path, before)) is not None:
                found[path] = kind
        new = self._run("ls-files", "--others", "--exclude-standard", "-z", "--", *places).split(b"\0")
        for path in map(os.fsdecode, filter(None, new)):
            # A repository within the repository is shown as a folder.
            if not path.endswith("/") and (kind := self._kind(path, before)) is not None:
                found[path] = kind
        for path, commit_of in self._submodules(places):
            if path not in before or before[path].blob != commit_of:
                found[path] = Kind.CHANGED if path in before else Kind.ADDED
        return tuple(ChangedFile(path, found[path]) for path in sorted(found))

    def _submodules(self, places: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Path and commit of each submodule of the index. Nothing in them is looked at, and git is not asked
        whether they changed: it would run in there, under the settings of another repository."""
        for line in self._run("ls-files", "--stage", "-z", "--", *places).split(b"\0"):
            if line.startswith(_SUBMODULE):
                words, _, path = line.partition(b"\t")
                yield os.fsdecode(path), words.split()[1].decode()

    def _kind(self, path: str, before: Mapping[str, Entry]) -> Kind | None:
        """What became of one file, by its content: git's index may be older than the file."""
        here = self.root / path
        entry = before.get(path)
        # What lies behind a link is no file of the repository.
        gone = any((self.root / folder).is_symlink() for folder in PurePosixPath(path).parents)
        try:
            mode = here.lstat().st_mode
        except OSError:
            gone = True
        if gone:
            return Kind.REMOVED if entry is not None else None
        if entry is None:
            return Kind.ADDED
        if stat.S_ISDIR(mode):
            return Kind.REMOVED if entry.regular else None
        if stat.S_ISREG(mode) != entry.regular or (stat.S_ISREG(mode) and _differs(here, entry)):
            return Kind.CHANGED
        if stat.S_ISLNK(mode) and not entry.holds(os.fsencode(here.readlink())):
            return Kind.CHANGED
        return None

    def _text(self, *args: str) -> str | None:
        try:
            return self._run(*args).decode()
        except (UnreadableError, UnicodeDecodeError):
            return None

    def _run(self, *args: str, settings: Mapping[str, str] | None = None) -> bytes:
        """What ``git ARGS`` prints, under ``settings``.

        Raises UnreadableError: it fails, with git's own first line.
        """
        try:
            ran = subprocess.run(
                ["git", *_QUIET, "-C", str(self.root), *args],
                capture_output=True,
                timeout=_SECONDS,
                env=_environment(settings or {}),
                stdin=subprocess.DEVNULL,
                check=True,
            )
        except FileNotFoundError:
            raise UnreadableError("git is not installed", hint="install git") from None
        except subprocess.TimeoutExpired:
            raise UnreadableError(
                f"git {args[0]} took more than {_SECONDS} seconds", hint="try again"
            ) from None
        except subprocess.CalledProcessError as error:
            said = printable(
                error.stderr.decode(errors="replace").strip().partition("\n")[0], keep="", limit=200
            )
            raise UnreadableError(
                f"git {args[0]} failed: {said}", hint="look at the repository: git fsck"
            ) from None
        return ran.stdout


def _differs(here: Path, entry: Entry) -> bool:
    try:
        with open_regular(here) as file:
            content = read_up_to(file, MAX_BYTES + 1)
    except OSError:  # whoever reads it next says why it cannot
        return True
    return len(content) > MAX_BYTES or not entry.holds(content)


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """``settings`` go this way, since ``-c`` takes no name with "=" in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    kept |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    for number, (key, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | {"GIT_CONFIG_COUNT": str(len(settings))}


def below(paths: Iterable[str], folder: str) -> list[str]:
    """The ``paths`` that lie below ``folder``."""
    return [path for path in paths if path.startswith(f"{folder}/")]
