"""The source of a release: Python files of a wheel or of an unpacked folder, parsed and never imported."""

from __future__ import annotations

import ast
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from packaging.utils import canonicalize_name

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import UnreadableError, ZooError
from zoo.printable import quoted

# The largest file that is read of the wheels that were read has one MiB.
_LARGEST = 64 * 1024 * 1024
# A member of a zip file that is cut, encrypted or compressed in a way that Python does not know.
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class LayoutError(ZooError):
    """The source of an engine is laid out in a way that the generator does not know."""

    def __init__(self, place: str, what: str) -> None:
        hint = "this release is laid out differently: teach zoo/engines/extract/ to read it"
        super().__init__(f"{place}: {what}", hint=hint)


@dataclass
class Module:
    """One file: what each top-level name is, and the statements that change it later.

    ``names`` maps to an expression (an assignment), a class, a function, or an import as ``(module, name)``
    with ``name`` None for ``import module``.
    """

    name: str
    path: str
    tree: ast.Module
    names: dict[str, ast.AST | tuple[str, str | None]] = field(default_factory=dict)
    changes: dict[str, list[ast.Call]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of ``from module import *``

    def place(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', '?')}"


@dataclass(frozen=True)
class Source:
    """``root`` is a wheel file, or a folder with a package and its ``.dist-info``, e.g. site-packages."""

    root: Path
    modules: dict[str, Module | None] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.root.exists():
            hint = "give a wheel file, or the folder that a wheel was unpacked into"
            raise UnreadableError(f"{quoted(str(self.root))} does not exist", hint=hint)
        if not self.root.is_dir() and not self.root.is_file():
            hint = "give a wheel file, or the folder that a wheel was unpacked into"
            raise UnreadableError(f"{quoted(str(self.root))} is no file but a device or a pipe", hint=hint)

    @cached_property
    def _zip(self) -> zipfile.ZipFile | None:
        if self.root.is_dir():
            return None
        try:
            return zipfile.ZipFile(self.root)
        except (OSError, zipfile.BadZipFile) as error:
            hint = "download the wheel again, or give an unpacked folder"
            raise UnreadableError(f"{quoted(str(self.root))} is no wheel ({error})", hint=hint) from error

    def text(self, path: str) -> str | None:
        """The content of a file; None where there is none.

        Raises:
            UnreadableError: it is no regular file, cannot be unpacked, is not UTF-8, or is above 64 MiB.
        """
        place = f"{quoted(path)} in {quoted(str(self.root))}"
        hint = "get the release again, from where it was published"
        try:
            content = self._content(path)
        except (KeyError, FileNotFoundError, NotADirectoryError):
            return None
        except _UNREADABLE as error:
            raise UnreadableError(f"{place} cannot be read ({error})", hint=hint) from error
        if len(content) > _LARGEST:
            raise UnreadableError(f"{place} has more than 64 MiB", hint="no release has such a source file")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableError(f"{place} is not UTF-8 (byte {error.start})", hint=hint) from error

    def _content(self, path: str) -> bytes:
        """At most one byte more than may be; of an archive no more is unpacked either."""
        if self._zip is not None:
            with self._zip.open(path) as member:
                return member.read(_LARGEST + 1)
        with open_regular(self.root / path) as file:
            return read_up_to(file, _LARGEST + 1)

    def version(self, engine: str) -> str:
        """The version that the package's metadata states."""
        found = [text for path in self._metadata() if (text := self.text(path)) and _named(text, engine)]
        matches = [re.search(r"^Version: (\S+)$", text, re.MULTILINE) for text in found]
        versions = [match[1] for match in matches if match]
        if len(versions) != 1:
            what = f"{quoted(str(self.root))} has {len(versions)} packages named {quoted(engine)}, not one"
            raise UnreadableError(what, hint="give the wheel, or a folder that holds it with its .dist-info")
        return versions[0]

    def module(self, name: str) -> Module | None:
        """The module of this dotted name; None where the source does not have it."""
        if name not in self.modules:
            base = name.replace(".", "/")
            self.modules[name] = None
            for path in (f"{base}.py", f"{base}/__init__.py"):
                text = self.text(path)
                if text is not None:
                    self.modules[name] = _parsed(name, path, text)
                    break
        return self.modules[name]

    def needed(self, name: str) -> Module:
        """The same, and its absence is another layout.

        Raises:
            LayoutError: the source has no such module.
        """
        found = self.module(name)
        if found is None:
            raise LayoutError(str(self.root), f"there is no module {name}")
        return found

    def named(self, module: Module, name: str) -> ast.AST | tuple[str, str | None] | None:
        """What ``name`` is at the top of ``module``, looked for behind ``import *`` too."""
        if name in module.names:
            return module.names[name]
        for star in module.stars:
            home = self.module(star)
            if home is not None and self.named(home, name) is not None:
                return star, name
        return None

    def children(self, package: str) -> tuple[str, ...]:
        """The modules right below ``package``, by dotted name, sorted."""
        base = package.replace(".", "/") + "/"
        if self._zip is not None:
            names = [name[len(base) :] for name in self._zip.namelist() if name.startswith(base)]
        else:
            folder = self.root / base
            names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        stems = sorted(name[:-3] for name in names if name.endswith(".py") and "/" not in name)
        return tuple(f"{package}.{stem}" for stem in stems if stem != "__init__")

    def _metadata(self) -> list[str]:
        if self._zip is not None:
            return [name for name in self._zip.namelist() if name.endswith(".dist-info/METADATA")]
        return [f"{path.name}/METADATA" for path in self.root.glob("*.dist-info")]


def _named(metadata: str, engine: str) -> bool:
    match = re.search(r"^Name: (\S+)$", metadata, re.MULTILINE)
    return match is not None and canonicalize_name(match[1]) == canonicalize_name(engine)


def _parsed(name: str, path: str, text: str) -> Module:
    try:
        tree = ast.parse(text, path)
    except SyntaxError as error:
        what = f"not Python that this interpreter reads ({error.msg})"
        raise LayoutError(f"{path}:{error.lineno}", what) from error
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL byte, or nested beyond all reason
        raise LayoutError(path, f"not Python that this interpreter reads ({error})") from error
    module = Module(name, path, tree)
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for statement in _top_level(tree.body):
        _note(module, package, statement)
    for statement in tree.body:  # not those in a branch: whether they run depends on the machine
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=changed))) as call):
                module.changes.setdefault(changed, []).append(call)
    return module


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run at import, branches included; of ``if TYPE_CHECKING`` only the ``else``."""
    for statement in body:
        if isinstance(statement, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(statement.test):
                yield from _top_level(statement.body)
            else:
                yield from _hints_only(statement.body)
            yield from _top_level(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _top_level(statement.body)
        else:
            yield statement


def _hints_only(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Imports for type checkers: they name classes in annotations that are text."""
    return (statement for statement in body if isinstance(statement, ast.ImportFrom))


def _note(module: Module, package: str, statement: ast.stmt) -> None:
    names = module.names
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                # A class that is assigned anew is wrapped: its text still says what it is.
                if isinstance(target, ast.Name) and not isinstance(names.get(target.id), ast.ClassDef):
                    names[target.id] = value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            names[name] = value
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            names[name] = statement
        case ast.Import() | ast.ImportFrom():
            found = imported(statement, package)
            if "*" in found:
                module.stars.append(found.pop("*")[0])
            names.update(found)


def imported(statement: ast.Import | ast.ImportFrom, package: str) -> dict[str, tuple[str, str | None]]:
    """The names that an import binds, each as (module, name in it)."""
    if isinstance(statement, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: (
                alias.name if alias.asname else alias.name.partition(".")[0],
                None,
            )
            for alias in statement.names
        }
    base = statement.module or ""
    if statement.level:
        parts = package.split(".")
        above = ".".join(parts[: len(parts) - statement.level + 1])
        base = f"{above}.{base}" if base else above
    return {alias.asname or alias.name: (base, alias.name) for alias in statement.names}
