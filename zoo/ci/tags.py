"""Where the tags of a published version are now (V005)."""

from __future__ import annotations

from zoo.ci.sources import WithinZoo
from zoo.errors import ZooError
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release import record
from zoo.release.afterwards import repo_of
from zoo.remote.refusals import NotThereError
from zoo.results import Finding, Where
from zoo.rules import Absent
from zoo.workspace import Zoo

_HINT = "a tag never moves: put it back, and release other files as a new version"


def moved_tags(zoo: Zoo, recipe: Recipe, sources: WithinZoo) -> tuple[list[Finding], Absent | None]:
    """Compare the tag of the recipe's version with the log, where it was published on the hub that sources
    are read from; and why that could not be done."""
    try:
        entries = [each for each in record.published(zoo, recipe.name) if each.version == recipe.version]
    except ZooError:  # V004 or V006
        return [], None
    log = Where(f"release/{recipe.name}/log.jsonl")
    found: list[Finding] = []
    for entry in entries:
        if not entry.tag or entry.target.startswith("dir:"):
            continue
        if not sources.reads(entry.target):
            return found, Absent(f"{quoted(entry.target)} is not the hub that is read; add --endpoint", False)
        try:
            repo = repo_of(zoo, recipe.name, entry)
            commit = sources.open(f"hf://{repo}@{entry.tag}", zoo=zoo).revision
        except NotThereError:
            message = f"the tag {quoted(entry.tag)} of {quoted(repo)} is not there any more"
            found.append(Finding(message, _HINT, log, code="V005"))
            continue
        except ZooError as error:
            return found, Absent(error.message, required=False)
        if commit != entry.ref:
            message = (
                f"the tag {quoted(entry.tag)} is at {quoted(str(commit), 60)} now, and was put at {entry.ref}"
            )
            found.append(Finding(message, _HINT, log, code="V005"))
    return found, None
