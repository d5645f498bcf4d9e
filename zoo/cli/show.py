"""``zoo show``: one recipe, its facts and its standing."""

from __future__ import annotations

from collections.abc import Iterator

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.printable import printable
from zoo.recipe.config import inventory_of, proposals
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.release.events import aliases, marked, released, withdrawn
from zoo.workspace import Zoo


@click.command("show")
@click.argument("name", metavar="NAME", shell_complete=recipes)
@format_option("text", "json")
@click.pass_obj
def command(app: App, name: str, form: str) -> None:
    """Show one recipe: what the draft is, what its file holds, how it is served, what was released."""
    recipe = usable_recipe(app.zoo, name)
    if form == "json":
        app.json(
            {
                "schema": "recipe/1",
                "file": recipe.file,
                "data": recipe.data,
                "released": list(released(app.zoo, name)),
                "yanked": withdrawn(app.zoo, name),
                "aliases": [
                    {"alias": each.alias, "version": each.version, "target": each.target}
                    for each in aliases(app.zoo, name).values()
                ],
            }
        )
        return
    facts = list(_facts(app.zoo, recipe))
    width = max(len(key) for key, _ in facts)
    app.out("\n".join(f"{key:<{width}}  {printable(value, keep='')}" for key, value in facts))


def _facts(zoo: Zoo, recipe: Recipe) -> Iterator[tuple[str, str]]:
    draft, target = recipe.draft, recipe.target
    specs = inventory_of(recipe)
    nbytes, elements = (
        sum(spec.nbytes for spec in specs.values()),
        sum(spec.elements for spec in specs.values()),
    )
    hidden = draft.config["hidden_size"]
    yield "draft", f"{recipe.name} {recipe.version}: {recipe.title}"
    yield "recipe", recipe.file
    yield "repository", recipe.repo
    yield "target", f"{target.repo.path} ({target.repo.revision or 'not pinned'})"
    if target.served != target.repo:
        yield "served as", f"{target.served.path} ({target.served.revision or 'not pinned'})"
    yield "source", recipe.checkpoint.source
    yield "family", f"{recipe.checkpoint.family}, {draft.layers} layers, hidden {hidden:,}"
    yield "tensors", f"{len(specs)}, {recipe.checkpoint.dtype}, {elements:,} parameters, {nbytes:,} bytes"
    if draft.block_size is not None:
        yield "block size", f"{draft.block_size} ({proposals(recipe)} proposals per verify step)"
    ids = f"{list(draft.aux_ids)}, {draft.aux_convention} ({len(draft.aux_ids)} x {target.hidden_size:,})"
    yield "aux layers", ids if draft.aux_ids else "unknown: left to the engine"
    if draft.mask_token_id is not None:
        yield "mask token", str(draft.mask_token_id)
    yield "rope", ", ".join(f"{key} {value}" for key, value in draft.rope.items())
    yield (
        "borrowed",
        ", ".join(f"{name} from the {owner}" for name, owner in draft.borrows.items()) or "nothing",
    )
    if draft.assumed:
        yield "assumed", ", ".join(f"draft{pointer.replace('/', '.')}" for pointer in draft.assumed)
    yield (
        "export of",
        f"{recipe.training.checkpoint} (step {recipe.training.step}) of run {recipe.training.run}",
    )
    for profile in recipe.profiles:
        yield "served by", f"{profile.name}: {profile.data['engine']} on {profile.gpus} x {profile.gpu}"
    yield "gates", ", ".join(recipe.gates) or "none beyond static and bytes"
    yield "released", ", ".join(marked(released(zoo, recipe.name))) or "nothing yet"
