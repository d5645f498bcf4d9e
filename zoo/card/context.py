"""What a card template can use: recipe, evidence and standing as one dict of plain values.

A ``str`` in it is text from outside, which the renderer escapes; a ``Markdown`` was written by this package.
Nothing is None: what is not known says *unknown*, and what is not there is "" or an empty list.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from zoo.card import architecture, claims, standing
from zoo.card.markdown import Markdown, code, fenced, inline, line
from zoo.card.plots import Plot
from zoo.card.replays import replays
from zoo.card.servings import servings
from zoo.engines.flags import flag_value
from zoo.engines.hazards import ENGINE_NAMES, HAZARDS
from zoo.engines.launch import launch_argv, shell
from zoo.engines.readings import Fate
from zoo.engines.readings.drafts import implied_by, pinned
from zoo.engines.vllm import speculation
from zoo.evidence import Evidence
from zoo.recipe.config import proposals
from zoo.recipe.data import DataManifests
from zoo.recipe.model import UNKNOWN, Claim, ModelRef, Profile, Recipe
from zoo.results import Outcome

REPORTED = Markdown("*reported by the author*")
_BLOCK_FLAGS = ("--speculative-dflash-block-size", "--speculative-num-draft-tokens")
_OUTCOMES = {Outcome.PASSED: "passed", Outcome.FAILED: "**failed**", Outcome.NOT_CHECKED: "not checked"}
_ISSUE = re.compile(r"([\w-]+/[\w.-]+)#(\d+)")
_KINDS = {"config": "configuration", "index": "shard index", "document": "document"}


def card_context(
    recipe: Recipe,
    evidence: tuple[Evidence, ...] = (),
    state: standing.Standing | None = None,
    manifests: DataManifests | None = None,
    plots: tuple[Plot, ...] = (),
) -> dict[str, Any]:
    """Everything that the card says, in the order in which it says it. ``manifests`` are the data manifests
    that the recipe names, as far as they can be read; ``plots`` those that are published with the card."""
    state, manifests = state or standing.Standing(), manifests or DataManifests()
    data = recipe.data
    size = architecture.size_of(recipe)
    return {
        "name": recipe.name,
        "title": recipe.title,
        "version": recipe.version,
        "released": state.released,
        "repo": recipe.repo,
        "target": recipe.target.repo.path,
        "served_as": recipe.target.served.path,
        "summary": data["summary"],
        "motivation": data.get("motivation", ""),
        "license": _license(recipe),
        "results": [_result(claim, evidence) for claim in recipe.claims],
        "protocol": list(data.get("evaluation", {}).get("protocol", ())),
        "profiles": [_profile(recipe, profile, evidence, state) for profile in recipe.profiles],
        "hazards": list(_hazards(recipe)),
        "caveats": [_caveat(caveat) for caveat in recipe.caveats if caveat.text],
        "base": _base(recipe),
        "architecture": [
            {"name": row.name, "value": row.value, "assumed": row.assumed}
            for row in architecture.rows(recipe)
        ],
        "assumed": any(row.assumed for row in architecture.rows(recipe)),
        "assumed_from": recipe.draft.assumed_from,
        "block_size": recipe.draft.block_size or "",
        "training": _training(recipe, manifests),
        "files": [_file(recipe, name, size) for name in recipe.checkpoint.files],
        "gates": [_gate(gate) for gate in standing.gates(recipe, evidence, state)],
        "replays": replays(evidence, plots),
        "servings": servings(evidence),
        "checkpoint_digest": state.checkpoint_digest or "",
        "records": [_record(record) for record in evidence],
        "evidence_by": _evidence_by(evidence),
    }


def _evidence_by(evidence: tuple[Evidence, ...]) -> Markdown:
    """Who stands behind the evidence as a whole: "signed by alice", or by whom which record is."""
    said = {record.name: inline(record.by) for record in evidence}
    if len(set(said.values())) <= 1:
        return Markdown("".join(dict.fromkeys(said.values())))
    return Markdown("; ".join(f"{by} ({_named(name)})" for name, by in said.items()))


def _result(claim: Claim, evidence: tuple[Evidence, ...]) -> dict[str, Any]:
    """A claim with its source: the record that measured it, or the author's word."""
    metric = claim.metric.removesuffix("_ratio").replace("_", " ").replace("tps", "TPS")
    source: Markdown = REPORTED
    if claim.source == "measured":
        verdict = claims.judge(claim, evidence)
        source = (
            _measured(verdict)
            if not verdict.problem
            else Markdown(f"**not counted**: {inline(verdict.problem)}")
        )
    return {
        "metric": metric[:1].upper() + metric[1:],
        "value": claims.claimed(claim),
        "against": claim.against,
        "at": ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in claim.at.items()),
        "text": claim.text,
        "source": source,
    }


def _measured(verdict: claims.Verdict) -> Markdown:
    assert verdict.record is not None
    assert verdict.result is not None
    counts = verdict.result.measured
    shown = ""
    if "verify_steps" in counts and "correct_drafts" in counts:
        shown = f": {counts['correct_drafts']:,} correct drafts in {counts['verify_steps']:,} verify steps"
    return Markdown(f"{_named(verdict.record.name)}{shown}, {inline(verdict.record.by)}")


def _profile(
    recipe: Recipe, profile: Profile, evidence: tuple[Evidence, ...], state: standing.Standing
) -> dict[str, Any]:
    """One way to serve the draft, with the command of ``zoo launch``. It pins no revision of the draft: only
    a release on the Hub has a tag, and this version of the tool makes none."""
    draft = ModelRef(recipe.repo)
    argv = launch_argv(profile, target=recipe.target.served, draft=draft, speculation=speculation(recipe))
    block, proposed = flag_value(argv, *_BLOCK_FLAGS), proposals(recipe)
    native = "" if proposed is None else str(proposed + 1)
    exports = [f"export {key}={shlex.quote(value)}" for key, value in profile.environment.items()]
    return {
        "name": profile.name,
        "engine": _engine(profile),
        "hardware": f"{profile.gpus} x {profile.gpu}",
        "image": profile.image,
        "command": fenced("\n".join([*exports, shell(argv)]), "bash"),
        "native_block": block is not None and block == native,
        "other_block": block if block and native and block != native else "",
        "warnings": list(_warnings(recipe, profile)),
        "gate": _gate(standing.served(recipe, profile, evidence, state)),
    }


def _warnings(recipe: Recipe, profile: Profile) -> Iterator[str]:
    """What the profile's engine is known to refuse or ignore of a complete draft (E022, E020)."""
    pair = pinned(profile)
    if pair is None:
        return
    reading = implied_by(recipe).read_by(*pair)
    for refusal in reading.refusals:
        yield f"{_engine(profile)} does not start with this draft: {refusal.reason}"
    ignored = len(reading.tensors(Fate.IGNORED))
    if ignored:
        yield f"{_engine(profile)} ignores {ignored} tensor{'' if ignored == 1 else 's'} of this draft"


def _hazards(recipe: Recipe) -> Iterator[dict[str, Any]]:
    """The hazards that the recipe mentions and, mentioned or not, those that apply to one of its profiles."""
    mentioned = {caveat.code for caveat in recipe.caveats}
    for hazard in HAZARDS.values():
        if hazard.code in mentioned or any(hazard.threatens(recipe, each) for each in recipe.profiles):
            text, source = Markdown(hazard.card), Markdown(_ISSUE.sub(_issue_link, hazard.source))
            yield {"code": hazard.code, "text": text, "range": hazard.range, "source": source}


def _caveat(caveat: Any) -> dict[str, Any]:
    engine = ENGINE_NAMES.get(caveat.engine, "")
    return {"text": line(caveat.text), "range": f"{engine} {caveat.versions}".strip()}


def _base(recipe: Recipe) -> dict[str, Any]:
    base = recipe.base
    if base is None:
        return {}
    about = recipe.data["base"].get("about", "")
    where = ModelRef(base.repo)
    repo = architecture.UNKNOWN_WORD
    if base.repo != UNKNOWN:
        repo = architecture.reference(where, base.revision)
    return {"about": about, "repo": repo, "same_architecture": _same_architecture(recipe)}


def _same_architecture(recipe: Recipe) -> str:
    """That config and inventory are those of the base draft, as far as the recipe says so, or "". Only a base
    that is a folder of the zoo is compared (rules B001 and B002)."""
    base = recipe.base
    if base is None or not base.config == base.inventory == "identical":
        return ""
    compared = "" if base.repo.startswith("./") else " (by the author, not compared)"
    return f"same architecture as the base draft{compared}"


def _training(recipe: Recipe, manifests: DataManifests) -> dict[str, Any]:
    """How the draft was trained; every fact that the recipe calls unknown says so."""
    training, stated = recipe.training, recipe.data["training"]
    data = training.data
    conversations = data.get("conversations", "")
    facts = {
        "Run": training.run,
        "Run manifest": code(training.manifest) if training.manifest != UNKNOWN else UNKNOWN,
        "Hidden states from": stated.get("hidden_states_from", ""),
        "Data": data.get("name", ""),
        "Conversations": f"{conversations:,}" if isinstance(conversations, int) else conversations,
        "Data manifest sha256": data.get("manifest_sha256", ""),
        "Disjoint from": ", ".join(_disjoint(recipe, manifests)),
    }
    return {
        "about": stated.get("about", ""),
        "exported_from": training.checkpoint,
        "step": _known(str(training.step)),
        "facts": [{"name": name, "value": _known(value)} for name, value in facts.items() if value],
    }


def _disjoint(recipe: Recipe, manifests: DataManifests) -> Iterator[str]:
    """What the training data has nothing in common with; each says whether anybody compared it (R040)."""
    unchecked = manifests.unchecked(recipe)
    for index, each in enumerate(recipe.training.data.get("disjoint_from", ())):
        entry, name = f"/training/data/disjoint_from/{index}", each if isinstance(each, str) else each["name"]
        if entry in unchecked or manifests.own is None:
            yield f"{name} (by the author, not compared)"
            continue
        shared = len(manifests.own.conversations & manifests.others[entry].conversations)
        yield f"{name} (compared: {f'{shared:,}' if shared else 'no'} conversations in common)"


def _file(recipe: Recipe, name: str, size: architecture.Size) -> dict[str, Any]:
    """A declared file. The one weights file of a draft says what is in it; of several, each says that it is a
    part."""
    spec = recipe.checkpoint
    kind = spec.files[name]
    about = spec.about.get(name, "")
    described: str = about or _KINDS.get(kind, kind)
    if kind == "weights" and list(spec.files.values()).count("weights") == 1:
        parts = [
            f"{size.tensors} tensors",
            architecture.SHORT_DTYPE[spec.dtype],
            architecture.size_text(size),
        ]
        same = _same_architecture(recipe)
        of = f"{same}: " if same else ""
        described = ", ".join(parts) + f"; {of}{architecture.summary(recipe)}"
        described = inline(described)
        if recipe.draft.borrows:
            verb = f"{architecture.borrowed(recipe)} borrowed from the target at serving time"
            described = Markdown(f"{described}; {verb}")
        if about:
            described = Markdown(f"{described}; {inline(about)}")
    return {"name": name, "kind": kind, "about": described}


def _gate(gate: standing.Gate) -> dict[str, Any]:
    reason = inline(gate.reason)
    if gate.evidence:
        reason = Markdown(" ".join(part for part in (_named(gate.evidence), reason) if part))
    return {
        "gate": standing.TITLES[gate.gate],
        "on": gate.on,
        "outcome": Markdown(_OUTCOMES[gate.outcome]),
        "passed": gate.outcome is Outcome.PASSED,
        "failed": gate.outcome is Outcome.FAILED,
        "reason": reason,
    }


def _record(record: Evidence) -> dict[str, Any]:
    """A record of the evidence folder. None is signed: signatures come with a later version of the tool."""
    host = list(dict.fromkeys(record.host["gpus"])) or [record.host.get("cpu", "CPU")]
    count = len(record.host["gpus"])
    return {
        "name": _named(record.name),
        "engine": f"{ENGINE_NAMES.get(record.engine.name, record.engine.name)} {record.engine.version}",
        "host": f"{count} x {', '.join(host)}" if count else host[0],
        "target": record.target["repo"],
        "revision": _known(record.target["revision"]),
        "date": record.ended[:10],
        "stale": record.stale,
        "checkpoint": record.checkpoint_digest[:12],
    }


def _license(recipe: Recipe) -> Markdown:
    stated = recipe.data["license"]
    if stated == UNKNOWN:
        return architecture.UNKNOWN_WORD
    name = inline(stated.get("name", stated["id"]))
    # The schema admits whatever follows https://. Angle brackets keep a parenthesis from ending the link.
    link = quote(stated.get("link", ""), safe=":/?#@!$&'()*+,;=%~")
    return Markdown(f"[{name}](<{link}>)" if link else name)


def _known(value: str) -> str:
    return architecture.UNKNOWN_WORD if value == UNKNOWN else value


def _named(name: str) -> Markdown:
    """The name of a record. No link: the records stay in the zoo, the card travels without them."""
    return code(name)


def _issue_link(match: re.Match[str]) -> str:
    """``owner/repo#12`` of a hazard's own text as a link. GitHub leads an issue's address on to a pull
    request."""
    return f"[{match[0]}](https://github.com/{match[1]}/issues/{match[2]})"


def _engine(profile: Profile) -> str:
    return f"{ENGINE_NAMES[profile.engine]} {profile.version}"
