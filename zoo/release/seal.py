"""The steps that write down what will be published: card, notes and the manifest with every digest."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.card.plots import load_plots
from zoo.card.render import render_card
from zoo.card.standing import Standing
from zoo.digests import engine_digest
from zoo.errors import ReleaseRefusedError
from zoo.printable import quoted
from zoo.release import credentials, manifest, notes, record
from zoo.release.attest import provenance_of
from zoo.release.changes import changes_since, numbers
from zoo.release.context import Done, Release


def render(release: Release) -> Done:
    """Card and notes. Both are searched for secrets, as the declared files were."""
    plan, recipe = release.plan, release.plan.recipe
    previous = record.previous(plan.zoo, recipe, release.entries)
    higher = record.higher(recipe.version, release.entries)
    standing = Standing(
        released=True,
        checkpoint_digest=engine_digest(recipe, release.declared.values()),
        gates={
            gate.name: (gate.outcome, release.unchecked.get(gate.name) or gate.reason)
            for gate in release.gates
        },
    )
    card = render_card(plan.zoo, recipe, release.evidence, standing)
    since = None if previous is None else changes_since(release, previous)
    measured = numbers(plan.zoo, recipe.name, release.evidence, previous)
    news = notes.render_notes(
        recipe,
        release.declared,
        since,
        higher,
        measured,
        release.gates,
        release.unchecked,
        release.standin,
    )
    plots = load_plots(plan.zoo, recipe, release.evidence)
    release.texts = {"README.md": card.encode(), "notes.md": news.encode()}
    release.texts |= {plot.path: plot.content for plot in plots}
    for path, text in release.texts.items():
        if (found := credentials.find(text, plan.target.secrets)) is not None:
            release.refuse(credentials.refusal(f"the rendered {path}", found))
    plan.target.accept_card(release.texts["README.md"])
    against = "without a lower version" if higher else "of the first release"
    if previous is not None:
        against = f"compared with {previous.version}"
    shown = f" and {len(plots)} plot{'' if len(plots) == 1 else 's'}" if plots else ""
    return Done(f"README.md ({len(card.splitlines())} lines){shown}, notes.md {against}")


def seal(release: Release) -> Done:
    """The manifest. A version that was published before is frozen: the declared files must agree with it,
    and its own card, notes and manifest stand. So do those of an open pull request with the same files."""
    recipe, declared = release.plan.recipe, release.declared
    provenance = provenance_of(release)
    if (secret := credentials.find(provenance)) is not None:
        release.refuse(credentials.refusal(manifest.PROVENANCE, secret))
    release.texts = {**release.texts, manifest.PROVENANCE: provenance}
    release.manifest = manifest.build(
        recipe, declared.values(), release.texts, release.gates, release.unchecked, release.standin
    )
    found = _frozen(release)
    if found is None:
        return Done(f"manifest sha256 {release.manifest.sha256[:12]}…, {len(release.manifest.files)} files")
    frozen, texts, was = found
    theirs = {path: file for path, file in frozen.files.items() if not record.is_written(path)}
    difference = manifest.first_difference(declared, theirs)
    if difference is not None:
        release.refuse(
            ReleaseRefusedError(
                f"{recipe.name} {recipe.version} is released already, with other bytes: {difference}",
                hint=f"a released version never changes: raise version: in {recipe.file} and release that",
            )
        )
    ours = release.texts
    # The provenance is that of the run that published: a later one comes from another commit.
    paths = sorted((ours.keys() | texts) - {manifest.PROVENANCE})
    changed = [quoted(path) for path in paths if ours.get(path) != texts.get(path)]
    release.manifest, release.texts = frozen, texts
    stays = "published" if was == "released" else was
    note = f"; {' and '.join(changed)} would differ now and stay as {stays}" if changed else ""
    same = "the same" if difference is None else "other"
    return Done(f"{was} before with {same} bytes, manifest sha256 {frozen.sha256[:12]}…{note}")


def _frozen(release: Release) -> tuple[manifest.Manifest, Mapping[str, bytes], str] | None:
    """What this version was published as, here or at another target, or is proposed as, and which of both;
    None if it never was."""
    plan, recipe, published = release.plan, release.plan.recipe, release.published
    entries = [entry for entry in release.entries if entry.version == recipe.version]
    recorded = record.frozen(plan.zoo, recipe.name, entries[-1]) if entries else None
    if published is not None:
        if any(entry.manifest_sha256 != published.manifest.sha256 for entry in entries):
            raise ReleaseRefusedError(
                f"{quoted(plan.target.show(f'{published.ref}/{manifest.NAME}'))} is not what the log of "
                f"{recipe.name} says was published as {recipe.version}",
                hint="restore it from release/ in the zoo's git, or release a new version",
            )
        written = [path for path in published.manifest.files if record.is_written(path)]
        texts = {path: plan.target.fetch(published.ref, path) for path in written}
        return published.manifest, texts, "released"
    if entries and recorded is None:
        raise record.lost(plan.zoo, recipe.name, entries[-1])
    if recorded is not None:
        return *recorded, "released"
    return _proposed(release) if plan.propose else None


def _proposed(release: Release) -> tuple[manifest.Manifest, Mapping[str, bytes], str] | None:
    """What the last pull request of this version proposes, if it is not closed and its checkpoint is that of
    this run. What the tool wrote may differ, e.g. because the record of the proposal was committed since.

    Raises ReleaseRefusedError: it is open with another checkpoint.
    """
    plan, recipe = release.plan, release.plan.recipe
    events = [
        each
        for each in record.proposed(plan.zoo, recipe.name)
        if (each.version, each.target) == (recipe.version, plan.target.spec)
    ]
    there = plan.target.proposed(events[-1].pull_request) if events else None
    if there is None or there.manifest.sha256 != events[-1].manifest_sha256:
        return None
    theirs = {path: file for path, file in there.manifest.files.items() if not record.is_written(path)}
    if manifest.first_difference(release.declared, theirs) is not None:
        label = f"{recipe.name} {recipe.version}"
        if (error := plan.target.second_proposal(events[-1].pull_request, label)) is not None:
            release.refuse(error)
        return None
    recorded = record.frozen(plan.zoo, recipe.name, events[-1])
    return None if recorded is None else (*recorded, "proposed")
