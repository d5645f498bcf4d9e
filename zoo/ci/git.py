"""Reading a git repository without running anything that it, or a pull request to it, could name.

No shell, no hooks, no file system monitor, no filter, textconv or external diff, no network, nothing written.
Names of files are taken apart at NUL, as git prints them with -z.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterable, Mapping
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
_SUBMODULE = "160000"
_WHOLE = "fetch the whole history: git fetch --unshallow (in a workflow: fetch-depth: 0 of actions/checkout)"
# Bases to try, in this order, where none is given.
_BASES = (
    *(f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "master")),
    *(f"refs/heads/{name}" for name in ("main", "master")),
)


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
    histories part; the empty tree where nothing is committed yet. ``tip``: the commit of the name now, which
    is ``ahead`` commits further."""

    name: str
    commit: str
    tip: str
    ahead: int = 0


@dataclass(frozen=True)
class Repository:
    """The repository of the zoo at ``root``. All paths are relative to ``root``, with slashes."""

    root: Path

    def base(self, ref: str | None) -> Base:
        """Where the history of HEAD left ``ref`` or, without one, the usual main branch.

        Raises:
            UsageError: there is no such commit. UnreadableError: no repository, or no common history.
        """
        if self._prefix is None:
            raise UnreadableError(
                f"{quoted(str(self.root))} is not in a git repository, or git does not trust its owner",
                hint="run it in a clone of the zoo; git says more: git status",
            )
        named = [ref] if ref else list(_BASES)
        name, commit = next(
            ((each, found) for each in named if (found := self._commit(each)) is not None), ("", "")
        )
        self._refuse_ambiguous(name)
        if self.head is None and ref == "HEAD":
            empty = self._run("hash-object", "-t", "tree", "--stdin").decode().strip()
            return Base("nothing", empty, empty)
        if not commit:
            what = f"there is no commit {quoted(ref)}" if ref else "no base was named, and none was found"
            hint = "zoo ci --base REF; fetch it first: git fetch origin BRANCH"
            if ref and self._commit(f"refs/remotes/origin/{ref}"):
                hint = f"zoo ci --base {printable(f'origin/{ref}', keep='')}"
            elif self._text("rev-parse", "--is-shallow-repository") == "true\n":
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
        parted = common.split()[0]
        ahead = 0 if parted == commit else int(self._run("rev-list", "--count", f"{parted}..{commit}"))
        shown = name.removeprefix("refs/remotes/").removeprefix("refs/heads/")
        return Base(shown, parted, commit, ahead)

    def _refuse_ambiguous(self, name: str) -> None:
        """A branch and a tag of one name are two bases, of which git takes the tag.

        Raises UsageError.
        """
        if not name or name.startswith("refs/"):
            return
        places = [f"refs/{kind}/{name}" for kind in ("tags", "heads", "remotes")]
        found = (self._text("for-each-ref", "--format=%(objectname) %(refname)", *places) or "").splitlines()
        # A pattern also matches what is below it.
        exact = [line.split(" ", 1) for line in found if line.split(" ", 1)[1] in places]
        if len({commit for commit, _ in exact}) > 1:
            known = ", ".join(printable(ref, keep="") for _, ref in exact)
            raise UsageError(
                f"{quoted(name)} is ambiguous: {known}", hint="write it in full: --base refs/..."
            )

    @cached_property
    def head(self) -> str | None:
        """The commit of HEAD, or None if there is none."""
        return self._commit("HEAD")

    @property
    def prefix(self) -> str:
        """The folder of the zoo in the repository, with a slash at its end; "" for its root."""
        return (self._prefix or "").removesuffix("\n")

    @cached_property
    def _prefix(self) -> str | None:
        """What git says of the folder, or None where it is in no repository."""
        return self._text("rev-parse", "--show-prefix")

    @cached_property
    def index(self) -> Mapping[str, Entry]:
        """Every file of the index below the zoo: what a clone of the next commit would have."""
        return self._staged(".")

    def _staged(self, *within: str) -> Mapping[str, Entry]:
        found = {}
        for line in self._run("ls-files", "--stage", "-z", "--", *within).split(b"\0"):
            if line:
                words, _, path = line.partition(b"\t")
                mode, blob, _ = words.decode().split()
                found[os.fsdecode(path)] = Entry(mode, blob)
        return found

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
        # Nothing in a submodule is looked at, and git is not asked whether it changed: it would run in there,
        # under the settings of another repository.
        for path, entry in (self._staged(*within) if within else self.index).items():
            if entry.mode == _SUBMODULE and (path not in before or before[path].blob != entry.blob):
                found[path] = Kind.CHANGED if path in before else Kind.ADDED
        return tuple(ChangedFile(path, found[path]) for path in sorted(found))

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

    def ask(self, given: bytes, *args: str) -> bytes:
        """What ``git ARGS`` prints of what it is ``given``.

        Raises UnreadableError: it fails.
        """
        return self._run(*args, given=given)

    def _run(self, *args: str, settings: Mapping[str, str] | None = None, given: bytes = b"") -> bytes:
        """What ``git ARGS`` prints, under ``settings``, when it is ``given`` this.

        Raises UnreadableError: it fails, with git's own first line.
        """
        try:
            ran = subprocess.run(
                ["git", *_QUIET, "-C", str(self.root), *args],
                capture_output=True,
                timeout=_SECONDS,
                env=_environment(settings or {}),
                input=given,
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
