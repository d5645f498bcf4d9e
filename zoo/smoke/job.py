"""A smoke test from what a person asked for to its record: resolve everything, run the phases, record.

Everything that can be wrong about the words of the command is found before a server starts.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import UnreadableError, UsageError, ZooError
from zoo.evidence import Evidence, Result, write_evidence
from zoo.printable import quoted
from zoo.recipe.model import ModelRef, Recipe
from zoo.replay.target import target_files
from zoo.results import Outcome
from zoo.smoke import calibrations, record
from zoo.smoke.attach import ask_running
from zoo.smoke.client import Client
from zoo.smoke.command import command
from zoo.smoke.context import Plan, Smoke
from zoo.smoke.lossless import Losslessness, calibration_result
from zoo.smoke.probes.verdicts import counted
from zoo.smoke.prompts import read_prompts
from zoo.smoke.run import VERIFY, Step, run
from zoo.smoke.served import Absent
from zoo.smoke.server import ServerFailedError
from zoo.smoke.settings import CPU, SmokeSettings, profile_of, settings_of
from zoo.smoke.target_weights import weights_of
from zoo.smoke.verified import verified

if TYPE_CHECKING:
    from zoo.replay.target import TargetFiles
    from zoo.sources import Sources
    from zoo.workspace import Zoo

Tell = Callable[[Step, str], None]
# Of the served tokens, for zoo trace: what a later replay can be made of.
TOKENS = "served.jsonl"
# Of one request to a server that others use too (more for its tokens), and of all of them.
_ATTACHED_S, _ATTACHED_TOTAL_S = 30.0, 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of ``zoo smoke``; "" and None stand for the recipe's own."""

    tier: str | None = None
    profile: str = ""
    checkpoint: str | None = None
    target: Path | None = None
    python: str | None = None
    control: str = ""
    with_control: str = ""
    host: str = "127.0.0.1"
    port: int | None = None
    extra: tuple[str, ...] = ()
    share_gpus: bool = False
    out: Path | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """The record of a run; ``calibration`` if the target was calibrated in it, with the place for it."""

    record: Evidence
    settings: SmokeSettings
    calibration: Evidence | None
    calibration_path: Path


def smoke(zoo: Zoo, recipe: Recipe, asked: Asked, sources: Sources, tell: Tell) -> Made:
    """Serve the draft, and judge what was served.

    Raises:
        UsageError, UnreadableError: something that was asked for does not fit, or is not there.
        ContradictsRecipeError: the draft is not the one that the recipe describes; nothing is started.
        ServerFailedError: the server did not come up, or died; the first line says why.
    """
    settings = settings_of(recipe, asked.tier)
    if settings.tier == CPU and asked.python is None:
        _check_libraries()
    profile = profile_of(recipe, settings, asked.profile)
    target, files = _target(zoo, recipe, asked.target, sources)
    folder = None if files is None else files.folder
    prompts = read_prompts(zoo, recipe, settings, folder)
    tell(VERIFY, "")
    opened, digest = verified(zoo, recipe, asked.checkpoint, sources)
    beside = _target_result(files)
    with _work(asked.out) as work:
        plan = Plan(
            recipe=recipe,
            profile=profile,
            settings=settings,
            checkpoint=opened,
            digest=digest,
            target=target,
            target_folder=folder,
            prompts=prompts,
            work=work,
            calibration=calibrations.path_of(zoo, recipe, profile),
            python=asked.python,
            host=asked.host,
            port=asked.port,
            extra=asked.extra,
            share_gpus=asked.share_gpus,
            control=asked.control,
        )
        done = run(plan, tell)
        if asked.with_control:
            beside.append(_control(replace(plan, control=asked.with_control), tell))
        made = _made(done, beside)
        if asked.out is not None:
            _keep(work, done, made.record)
        return made


def _check_libraries() -> None:
    """Raises UsageError where this interpreter cannot run the reference engine, before anything is read."""
    missing = [each for each in ("torch", "transformers") if find_spec(each) is None]
    if missing:
        raise UsageError(
            f"--tier cpu needs torch and transformers ({' and '.join(missing)} not found)",
            hint="pip install 'draft-zoo[torch]', or name an interpreter that has them: --python PATH",
        )


def attach(zoo: Zoo, recipe: Recipe, url: str, asked: Asked) -> tuple[tuple[Result, ...], int]:
    """Ask a running server whether it is this draft, and alive: its results as gates, and the exit status: 1
    where a probe fails, 2 where one was not checked.

    Raises:
        NoAnswerError, RequestRefusedError: it does not answer.
    """
    settings = settings_of(recipe, asked.tier)
    profile = profile_of(recipe, settings, asked.profile)
    folder = recipe.target.served.path
    local = asked.target or (zoo.root / folder if folder.startswith("./") else None)
    prompts = read_prompts(zoo, recipe, settings, local)
    with Client(
        url,
        timeout_s=_ATTACHED_S,
        total_s=_ATTACHED_TOTAL_S,
        vocab_size=recipe.target.vocab_size,
        key=os.environ.get("ZOO_SERVER_KEY"),
    ) as client:
        found = ask_running(client, recipe, profile, settings, [each.input_ids for each in prompts.prompts])
    results = tuple(replace(each, check=f"gate/{each.check}") for each in found)
    failed = any(each.outcome is Outcome.FAILED for each in results)
    missing = any(each.outcome is Outcome.NOT_CHECKED for each in results)
    return results, 1 if failed else 2 if missing else 0


def write(made: Made, folder: Path) -> tuple[Path, ...]:
    """Keep the record as evidence in ``folder`` and, if the target was calibrated, that record for other
    drafts. Returns what was written."""
    pairs = [(folder / f"{made.record.name}.json", made.record)]
    if made.calibration is not None:
        pairs.append((made.calibration_path, made.calibration))
    for path, each in pairs:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_evidence(path, each)
    return tuple(path for path, _ in pairs)


def _made(done: Smoke, beside: list[Result]) -> Made:
    plan, served = done.plan, done.served
    log = "" if isinstance(served.log, Absent) else served.log
    calibrated = served.lossless.calibration if isinstance(served.lossless, Losslessness) else None
    results = [
        *record.gates(done.results, plan.settings.gpus),
        *_lengths(done),
        *beside,
        *([] if calibrated is None else [calibration_result(calibrated, plan.profile)]),
        record.phases(done.seconds),
        *record.excerpt(log, done.engine.name, done.engine.version),
    ]
    made = record.record(
        plan.recipe,
        plan.profile,
        plan.settings,
        digest=plan.digest,
        inputs=plan.prompts.inputs(),
        engine=done.engine,
        gpus=done.gpus,
        started=done.started,
        results=results,
        extra=plan.extra,
        places=_places(done),
    )
    again = None
    if done.calibration is not None and plan.settings.gpus:
        again = calibrations.record(
            plan.recipe,
            plan.profile,
            done.calibration,
            engine=replace(made.engine, argv=command(plan, None).public),
            inputs=made.inputs,
            host=made.host,
            started=made.started,
            ended=made.ended,
        )
    return Made(made, plan.settings, again, plan.calibration)


def _lengths(done: Smoke) -> Iterator[Result]:
    """What was accepted at both temperatures, per request too, and the tokens of temperature 0."""
    served = done.served
    for temperature, answers in ((0, served.greedy), (1, served.sampled)):
        check = f"served/t{temperature}"
        about: dict[str, Any] = {"temperature": temperature}
        if isinstance(answers, Absent):
            yield Result(check, Outcome.NOT_CHECKED, answers.reason, about)
            continue
        said = about | counted(served, answers)
        counts = [each.counts for each in answers]
        said["request_steps"] = [0 if each is None else each.verify_steps for each in counts]
        said["request_correct"] = [0 if each is None else each.correct_drafts for each in counts]
        if temperature == 0:
            said["output_lengths"] = [len(each.output_ids) for each in answers]
            said["output_ids"] = [token for each in answers for token in each.output_ids]
        yield Result(check, Outcome.PASSED, "", said)


def _places(done: Smoke) -> dict[str, str]:
    """The words for the paths that a log or a reason may name."""
    plan = done.plan
    found = {str(done.draft): "{draft}", str(plan.work): "{out}"}
    return found if plan.target_folder is None else found | {str(plan.target_folder): "{target}"}


def _target_result(files: TargetFiles | None) -> list[Result]:
    """Which files the target was, where they are here: a pinned name says nothing of a folder."""
    if files is None:
        reason = "the engine fetched the target by its name; its files are not here"
        return [Result("target", Outcome.NOT_CHECKED, reason, {})]
    said = {"config_sha256": files.config_sha256, "tokenizer_sha256": files.tokenizer_sha256}
    said |= weights_of(files.checkpoint)
    return [Result("target", Outcome.PASSED, "", {key: value for key, value in said.items() if value})]


def _control(plan: Plan, tell: Tell) -> Result:
    """Serve the broken copy, and say which probes saw it. The replay before it may still hold GPU memory."""
    check, folder = f"control/{plan.control}", plan.work / f"control-{plan.control}"
    folder.mkdir(exist_ok=True)
    plan = replace(plan, work=folder, share_gpus=True)
    try:
        done = run(
            plan, lambda phase, text: tell(replace(phase, about=f"{plan.control}: {phase.about}"), text)
        )
    except ZooError as error:
        return Result(check, Outcome.NOT_CHECKED, error.message, {})
    caught = [each for each in done.results if each.outcome is Outcome.FAILED]
    said = {"caught_by": " ".join(each.check for each in caught)}
    lengths = next(_lengths(done)).measured
    said |= {
        key: lengths[key] for key in ("accept_length", "verify_steps", "correct_drafts") if key in lengths
    }
    if caught:
        return Result(check, Outcome.PASSED, "", said)
    return Result(check, Outcome.FAILED, f"no probe failed for a draft that is broken ({plan.control})", said)


def _target(
    zoo: Zoo, recipe: Recipe, named: Path | None, sources: Sources
) -> tuple[ModelRef, TargetFiles | None]:
    """What the engine is given, and its files where it is a folder of this machine: the one that was named,
    or the target file's own.

    Raises:
        UsageError, UnreadableError: the folder is not that of the recipe's target.
    """
    served = recipe.target.served
    folder = named
    if folder is None and served.path.startswith("./"):
        folder = zoo.root / served.path
    if folder is None:
        return served, None
    if not folder.is_dir():
        raise UnreadableError(
            f"there is no folder {quoted(str(folder))} with the target",
            hint="name the target's: --target FOLDER",
        )
    folder = folder.resolve()
    return ModelRef(str(folder)), target_files(recipe.target, sources.open(str(folder)))


@contextmanager
def _work(out: Path | None) -> Iterator[Path]:
    """The folder of a run: the one that the person named, or one that is gone afterwards; but not where a
    server failed, whose log is there to be read."""
    if out is not None:
        if out.exists() and not out.is_dir():
            raise UsageError(f"--out {quoted(str(out))} is no folder", hint="name a folder, new or not")
        out.mkdir(parents=True, exist_ok=True)
        yield out.resolve()
        return
    work = Path(tempfile.mkdtemp(prefix="zoo-smoke-"))
    try:
        yield work
    except ServerFailedError:
        raise
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)


def _keep(work: Path, done: Smoke, made: Evidence) -> None:
    """Beside the logs: the record, and the served tokens as conversations for zoo trace."""
    (work / "report.json").write_text(json.dumps(made.as_json(), indent=2) + "\n", encoding="utf-8")
    answers = done.served.greedy
    if isinstance(answers, Absent):
        return
    lines = [
        json.dumps(
            {
                "name": prompt.name,
                "domain": prompt.domain,
                "input_ids": list(answer.input_ids),
                "continuation_ids": list(answer.output_ids),
                "temperature": 0,
            }
        )
        for prompt, answer in zip(done.plan.prompts.prompts, answers, strict=True)
    ]
    (work / TOKENS).write_text("\n".join(lines) + "\n", encoding="utf-8")
