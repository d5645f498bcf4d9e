"""Reading recipes, targets and profiles from a zoo: every problem of every file involved, at once.

``extends: OTHER`` inherits from another recipe: maps merge, lists replace, ``null`` deletes an inherited
key. The merged result is validated, and each finding points at the file that said it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import InvalidRecipeError, NoSuchRecipeError, UnreadableError
from zoo.printable import quoted
from zoo.recipe import build, semantics, yamltree
from zoo.recipe.model import Profile, Recipe, Target
from zoo.recipe.names import is_name
from zoo.recipe.validate import did_you_mean, plain, validate
from zoo.results import Finding, Where
from zoo.schemas import schema
from zoo.workspace import Zoo

MAX_EXTENDS = 8
T = TypeVar("T", Target, Profile)


class Loaded(NamedTuple):
    """What loading a recipe gave. ``recipe`` is None when the findings make it unusable."""

    name: str
    file: str
    recipe: Recipe | None
    findings: tuple[Finding, ...]


def recipe_names(zoo: Zoo) -> list[str]:
    """The names of all recipes of the zoo, sorted."""
    return file_names(zoo, zoo.recipes)


def file_names(zoo: Zoo, folder: Path) -> list[str]:
    """The names of the YAML files in a folder of recipes, sorted; none where it is a link out of the zoo."""
    return sorted(path.stem for path in folder.glob("*.yaml") if path.is_file()) if zoo.holds(folder) else []


def _is_there(folder: Path, name: str) -> bool:
    """Whether ``folder`` has a file ``NAME.yaml``. Asked for each reference of each recipe: listing the
    folder every time would make a zoo of a thousand recipes quadratic."""
    if not name or "/" in name:
        return False
    try:
        return (folder / f"{name}.yaml").is_file()
    except OSError:  # no file can have such a name
        return False


def load_recipe(zoo: Zoo, name: str) -> Loaded:
    """Load ``recipes/NAME.yaml`` with its target and profiles.

    Raises:
        NoSuchRecipeError: there is no such file.
    """
    path = zoo.recipes / f"{name}.yaml"
    if not _is_there(zoo.recipes, name):
        known = recipe_names(zoo)
        listed = (
            f"known recipes: {', '.join(known)}" if known else "this zoo has none yet; see: zoo init --help"
        )
        if "/" not in name and "\0" not in name and (zoo.recipes / f"{name}.yml").is_file():
            raise NoSuchRecipeError(f"recipes end in .yaml, not {name}.yml", hint=f"rename it to {name}.yaml")
        raise NoSuchRecipeError(
            f"no recipe {quoted(name)} in {quoted(str(zoo.recipes))}",
            hint=did_you_mean(name, known).strip() or listed,
        )
    file = zoo.shown(path)
    findings: list[Finding] = []
    tree = _tree(zoo, path, findings, seen=())
    if tree is None or findings:
        return Loaded(name, file, None, tuple(findings))
    data, marks = plain(tree, schema("recipe-1"))
    findings += _checked(data, marks, "recipe-1")
    target = _reference(
        zoo, "targets", data.get("target"), marks.get("/target"), build.target, "target-1", findings
    )
    served = data.get("serve") if isinstance(data.get("serve"), list) else []
    profiles = [
        _reference(zoo, "profiles", each, marks.get(f"/serve/{i}"), build.profile, "profile-1", findings)
        for i, each in enumerate(served or [])
    ]
    findings += semantics.of_recipe(name, data, marks) if not findings else []
    if findings or target is None or None in profiles:
        return Loaded(name, file, None, tuple(findings))
    ready = tuple(profile for profile in profiles if profile is not None)
    return Loaded(name, file, build.recipe(data, marks, file, target, ready), ())


def usable_recipe(zoo: Zoo, name: str) -> Recipe:
    """The recipe, for commands that need a good one.

    Raises:
        NoSuchRecipeError: there is no such file.
        InvalidRecipeError: it has findings, which the error carries.
    """
    loaded = load_recipe(zoo, name)
    if loaded.recipe is None:
        raise InvalidRecipeError(name, loaded.findings)
    return loaded.recipe


def reference_findings(zoo: Zoo, folder: str, name: str) -> tuple[Finding, ...]:
    """What is wrong with a file of ``recipes/targets`` or ``recipes/profiles``, whoever uses it."""
    findings: list[Finding] = []
    if not is_name(name):
        where = Where(zoo.shown(zoo.recipes / folder / f"{name}.yaml"))
        hint = "use small letters, digits, dot, dash and underscore"
        return (Finding(f"{quoted(name)} cannot be the name of a file here", hint, where, code="R011"),)
    if folder == "targets":
        _reference(zoo, folder, name, None, build.target, "target-1", findings)
    else:
        _reference(zoo, folder, name, None, build.profile, "profile-1", findings)
    return tuple(findings)


def extended(zoo: Zoo, name: str) -> str | None:
    """The recipe that ``recipes/NAME.yaml`` itself extends, or None; nothing else of it is looked at.

    Raises UnreadableError: there is no such file.
    """
    tree = _parse(zoo, zoo.recipes / f"{name}.yaml", [])
    node = None if tree is None else tree.entries.get("extends")
    return node.text if isinstance(node, yamltree.Scalar) else None


def resolved(zoo: Zoo, name: str) -> dict[str, Any] | None:
    """What the recipe says with everything that it extends, unchecked; None where that cannot be told.

    Raises UnreadableError: there is no such file.
    """
    findings: list[Finding] = []
    tree = _tree(zoo, zoo.recipes / f"{name}.yaml", findings, seen=())
    if tree is None or findings:
        return None
    data, _ = plain(tree, schema("recipe-1"))
    return data if isinstance(data, dict) else None


def usable_target(zoo: Zoo, name: str) -> Target:
    """The target file ``recipes/targets/NAME.yaml``.

    Raises:
        NoSuchRecipeError: there is no such file.
        InvalidRecipeError: it has findings, which the error carries.
    """
    known = file_names(zoo, zoo.recipes / "targets")
    if name not in known:
        listed = f"known targets: {', '.join(known)}" if known else "write recipes/targets/NAME.yaml"
        raise NoSuchRecipeError(
            f"no target {quoted(name)} in {quoted(str(zoo.recipes / 'targets'))}",
            hint=did_you_mean(name, known).strip() or listed,
        )
    findings: list[Finding] = []
    target = _reference(zoo, "targets", name, None, build.target, "target-1", findings)
    if target is None:
        raise InvalidRecipeError(name, tuple(findings))
    return target


def _tree(zoo: Zoo, path: Path, findings: list[Finding], seen: tuple[str, ...]) -> yamltree.Mapping | None:
    """The recipe's tree with everything that it extends merged in."""
    tree = _parse(zoo, path, findings)
    if tree is None or "extends" not in tree.entries:
        return tree
    node, where = tree.entries["extends"], tree.keys["extends"]
    parent = node.text if isinstance(node, yamltree.Scalar) else ""
    chain = (*seen, path.stem)
    if parent in chain or len(chain) > MAX_EXTENDS:
        message = f"extends goes in a circle: {' -> '.join((*chain, parent))}"
        if parent not in chain:
            message = f"extends more than {MAX_EXTENDS} recipes in a row"
        findings.append(Finding(message, "remove one extends", where, code="R010"))
        return None
    if not _is_there(zoo.recipes, parent):
        hint = did_you_mean(parent, recipe_names(zoo)).strip() or "name a recipe of this zoo"
        findings.append(Finding(f"extends: there is no recipe {quoted(parent)}", hint, where, code="R010"))
        return None
    below = _tree(zoo, zoo.recipes / f"{parent}.yaml", findings, chain)
    return None if below is None else _merged(below, tree)


def _merged(below: yamltree.Mapping, above: yamltree.Mapping) -> yamltree.Mapping:
    entries, keys = dict(below.entries), dict(below.keys)
    for key, node in above.entries.items():
        inherited = entries.get(key)
        if isinstance(node, yamltree.Scalar) and node.value is None and inherited is not None:
            del entries[key], keys[key]
            continue
        if isinstance(node, yamltree.Mapping) and isinstance(inherited, yamltree.Mapping):
            node = _merged(inherited, node)
        entries[key], keys[key] = node, above.keys[key]
    return yamltree.Mapping(entries, keys, above.where)


def _parse(zoo: Zoo, path: Path, findings: list[Finding]) -> yamltree.Mapping | None:
    if not zoo.holds(path):
        where = Where(zoo.shown(path))
        findings.append(
            Finding("a link that leads out of the zoo", "put the file itself here", where, code="X010")
        )
        return None
    try:
        with open_regular(path) as opened:
            text = read_up_to(opened, yamltree.MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableError(
            f"{zoo.shown(path)}: {error.strerror or error}", hint="check the file and its permissions"
        ) from error
    tree, found = yamltree.parse(text, zoo.shown(path))
    findings += found
    return tree


def _reference(
    zoo: Zoo,
    folder: str,
    name: Any,
    where: Where | None,
    make: Callable[[dict[str, Any], dict[str, Where], str], T],
    schema_name: str,
    findings: list[Finding],
) -> T | None:
    """A target or profile file that the recipe names."""
    if not isinstance(name, str) or not is_name(name):
        return None  # the schema has said so
    if not _is_there(zoo.recipes / folder, name):
        known = file_names(zoo, zoo.recipes / folder)
        hint = did_you_mean(name, known).strip() or f"write recipes/{folder}/{name}.yaml"
        message = f"there is no {folder[:-1]} {quoted(name)} in recipes/{folder}/"
        findings.append(Finding(message, hint, where or Where(), code="R009"))
        return None
    path = zoo.recipes / folder / f"{name}.yaml"
    own: list[Finding] = []
    tree = _parse(zoo, path, own)
    if tree is not None and not own:
        data, marks = plain(tree, schema(schema_name))
        own += _checked(data, marks, schema_name)
        if not own:
            own += semantics.of_reference(name, data, marks)
        if not own:
            return make(data, marks, zoo.shown(path))
    findings += own
    return None


def _checked(data: dict[str, Any], marks: dict[str, Where], name: str) -> list[Finding]:
    """What the schema says, and what is still TODO; a TODO is not also a wrong value."""
    left = semantics.todos(data, marks)
    places = {finding.where for finding in left}
    return left + [finding for finding in validate(data, marks, name) if finding.where not in places]
