"""The phases of a smoke test, in the order of ``zoo.smoke.run``. Each does one thing and leaves what it found
in the :class:`Smoke`; what it means, the probes say."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from zoo.engines.flags import flag_value, has_flag
from zoo.errors import ZooError
from zoo.evidence import Engine
from zoo.printable import printable
from zoo.recipe.config import proposals
from zoo.recipe.model import ModelRef
from zoo.smoke import asking, calibrations, gpus, lossless
from zoo.smoke.client import Answer, Client
from zoo.smoke.command import Command, command
from zoo.smoke.context import Smoke
from zoo.smoke.controls import broken_copy
from zoo.smoke.draft_copy import served_copy
from zoo.smoke.expectations import expectations
from zoo.smoke.probes import PROBES, ready, shutdown
from zoo.smoke.probes import preflight as before
from zoo.smoke.replayed import ServedTokens, replay_served
from zoo.smoke.served import Absent, Served
from zoo.smoke.server import Limits, Server, Starting, serving
from zoo.smoke.settings import CPU, REFERENCE

if TYPE_CHECKING:
    from pathlib import Path

_NO_FOLDER = Absent("the target is no folder of this machine; zoo smoke NAME --target FOLDER gives one")
# Of one request, beyond the time for its tokens: the first may compile kernels.
_REQUEST_S = 120.0
_DTYPES = {"half": "float16", "float": "float32"}


def preflight(smoke: Smoke) -> None:
    """The GPUs of the profile: there, free, with a driver. On tier cpu there is nothing to look at.

    Raises:
        ZooError: they are not; nothing is started.
    """
    plan = smoke.plan
    if not plan.settings.gpus:
        smoke.results.append(before.result(None, (), "tier cpu has no GPUs"))
        return
    try:
        found = gpus.read_gpus(_visible(smoke))
    except gpus.GpusUnknownError as error:
        smoke.results.append(before.result(None, (), error.message))
        return
    problems = gpus.preflight(found, count=plan.settings.gpus, name=plan.profile.gpu, share=plan.share_gpus)
    if problems:
        raise ZooError(
            f"profile {plan.profile.name} cannot be served here: {'; '.join(problems)}",
            hint="serve it on its own hardware: a run elsewhere says nothing of it",
        )
    smoke.gpus = replace(found, gpus=found.gpus[: plan.settings.gpus])
    shared = "other processes may be on the GPUs (--share-gpus)" if plan.share_gpus else ""
    smoke.results.append(before.result([each.name for each in smoke.gpus.gpus], (), shared))


def copy(smoke: Smoke) -> None:
    """The copy of the draft that is served: allowed config keys, declared weights; broken for a control."""
    plan = smoke.plan
    files = plan.recipe.checkpoint.files
    if plan.control:
        made = broken_copy(plan.checkpoint, plan.control, declared=files, under=plan.work)
    else:
        made = served_copy(plan.checkpoint, declared=files, under=plan.work)
    smoke.draft = smoke.stack.enter_context(made)


def start(smoke: Smoke) -> None:
    """Start the server and wait until it generates; know it by its own word."""
    plan = smoke.plan
    made, begun = command(plan, ModelRef(str(smoke.draft))), monotonic()
    server = smoke.stack.enter_context(_serving(smoke, made, plan.work / "server.log"))
    smoke.server = server
    smoke.client = smoke.stack.enter_context(_client(smoke, server))
    info = smoke.client.server_info()
    name = REFERENCE if plan.settings.tier == CPU else plan.profile.engine
    version = _version(info)
    smoke.engine = Engine(name, str(version), made.public)
    smoke.served = Served(
        recipe=plan.recipe,
        profile=plan.profile,
        settings=plan.settings,
        engine=name,
        version=version,
        draft=str(smoke.draft),
        info=info,
        prompts=tuple(each.input_ids for each in plan.prompts.prompts),
    )
    smoke.results.append(ready.result(plan.profile, name, str(version), monotonic() - begun))


def greedy(smoke: Smoke) -> None:
    """Every prompt at temperature 0, one after the other: what the gates count."""
    smoke.served = replace(smoke.served, greedy=_ask(smoke, 0.0))


def sampled(smoke: Smoke) -> None:
    """The same at temperature 1, which is reported."""
    smoke.served = replace(smoke.served, sampled=_ask(smoke, 1.0))


def requests(smoke: Smoke) -> None:
    """One request of each kind, and a chat with a tool where the server has parsers for it."""
    plan, served = smoke.plan, smoke.served
    wanted = expectations(plan.recipe, plan.profile, plan.settings, served.engine, served.version)
    kinds = asking.ask_kinds(smoke.client, served.prompts[0], wanted)
    argv = smoke.server.argv
    chat: Any = Absent("the server has no tokenizer (--skip-tokenizer-init)")
    if not has_flag(argv, "--skip-tokenizer-init"):
        chat = asking.ask_tools(smoke.client)
    smoke.served = replace(served, kinds=kinds, chat=chat)


def concurrency(smoke: Smoke) -> None:
    """1, 2, 4, ... requests at once."""
    settings = smoke.plan.settings
    waves = asking.ask_waves(
        smoke.client,
        smoke.served.prompts,
        max_new_tokens=settings.max_new_tokens,
        most=settings.concurrency,
        ignore_eos=settings.ignore_eos,
        told=lambda count: smoke.told(f"{2**count // 2} at once"),
    )
    smoke.served = replace(smoke.served, waves=waves, gpus_free=_free(smoke))


def long_context(smoke: Smoke) -> None:
    """One prompt that fills the context that the recipe names."""
    settings, served = smoke.plan.settings, smoke.served
    long: Any = Absent("the recipe names no context (gates.smoke.context)")
    if settings.context:
        long = asking.ask_long(
            smoke.client,
            served.prompts,
            context=settings.context,
            max_new_tokens=settings.max_new_tokens,
            block=(proposals(smoke.plan.recipe) or 0) + 1,
        )
    smoke.served = replace(served, long=long)


def stop(smoke: Smoke) -> None:
    """End the server, and look at what it left: its log, a port, processes."""
    stopped = smoke.server.stop()
    smoke.served = replace(smoke.served, log=smoke.server.log_text())
    kept: list[str] = []
    if smoke.gpus is not None and not smoke.plan.share_gpus:
        kept = gpus.memory_kept(smoke.gpus, _visible(smoke))
    smoke.results.append(shutdown.result(stopped, kept))


def replay(smoke: Smoke) -> None:
    """The draft as it is in its source, replayed over the very tokens that were served, in the server's
    dtype: a copy that was broken on its way has less accepted than that."""
    plan, served = smoke.plan, smoke.served
    found: Any = _NO_FOLDER
    if plan.target_folder is not None and not isinstance(served.greedy, Absent):
        tokens = [ServedTokens(each.input_ids, each.output_ids) for each in served.greedy]
        found = replay_served(
            plan.recipe,
            plan.checkpoint,
            plan.target_folder,
            tokens,
            engine=(plan.profile.engine, str(plan.profile.version)),
            device="cuda" if plan.settings.gpus else "cpu",
            dtype=dtype_of(smoke),
            work=plan.work,
            told=lambda count: smoke.told(f"{count} of {len(tokens)} answers"),
        )
        if plan.settings.gpus:
            _give_back()
    smoke.served = replace(served, replayed=found)


def target(smoke: Smoke) -> None:
    """The served tokens under the target alone, on a second server without the draft.

    Its tolerance comes from the target against itself: of an earlier run with this target, profile and
    engine, or measured now.
    """
    plan, served = smoke.plan, smoke.served
    if isinstance(served.greedy, Absent):
        return
    version = smoke.engine.version
    known = calibrations.read(plan.calibration, plan.recipe, plan.profile, version)
    with (
        _serving(smoke, command(plan, None), plan.work / "target.log") as server,
        _client(smoke, server) as client,
    ):
        alone = None
        if isinstance(known, Absent):
            known, alone = lossless.calibrate(
                client,
                served.prompts,
                plan.settings.max_new_tokens,
                told=lambda count: smoke.told(f"the target alone, {count} of {len(served.prompts)} answers"),
                ignore_eos=plan.settings.ignore_eos,
            )
            smoke.calibration = known if isinstance(known, lossless.Calibration) else None
        found: Any = known
        if isinstance(known, lossless.Calibration):
            found = lossless.compare(
                client,
                served.greedy,
                alone,
                known,
                told=lambda count: smoke.told(f"{count} of {len(served.prompts)} answers scored"),
            )
    smoke.served = replace(served, lossless=found)


def judge(smoke: Smoke) -> None:
    """What all of it means."""
    smoke.results += [probe.judge(smoke.served) for probe in PROBES]


def dtype_of(smoke: Smoke) -> str:
    """The dtype of the server's computation, as torch spells it; "auto" where nobody says more."""
    stated = flag_value(smoke.server.argv, "--dtype") or smoke.served.info.get("dtype") or "auto"
    return _DTYPES.get(str(stated), str(stated))


def limits_of(smoke: Smoke) -> Limits:
    waits = smoke.plan.settings.limits
    return Limits(start_s=waits.start, no_progress_s=waits.no_progress, request_s=_REQUEST_S)


def _give_back() -> None:
    """Give the memory of the replay back to the GPU, for a server that starts after it."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _visible(smoke: Smoke) -> str | None:
    """The CUDA_VISIBLE_DEVICES that the profile sets for the server."""
    return smoke.plan.profile.environment.get("CUDA_VISIBLE_DEVICES")


def _free(smoke: Smoke) -> tuple[int, ...] | Absent:
    """Free bytes of each GPU of the server now."""
    if smoke.gpus is None:
        return Absent("no GPU was looked at")
    now = {each.uuid: each.free for each in gpus.read_gpus(_visible(smoke)).gpus}
    return tuple(now[each.uuid] for each in smoke.gpus.gpus if each.uuid in now)


def _serving(smoke: Smoke, made: Command, log: Path) -> Any:
    plan = smoke.plan

    def told(state: Starting) -> None:
        again = f"try {state.attempt}, " if state.attempt > 1 else ""
        smoke.told(f"{again}{state.seconds:.0f} s, {printable(state.line, keep='', limit=100)}")

    return serving(
        made.argv,
        environment=made.environment,
        log=log,
        limits=limits_of(smoke),
        host=plan.host,
        port=plan.port,
        engine=made.engine,
        version=made.version,
        told=told,
    )


def _client(smoke: Smoke, server: Server) -> Client:
    vocab_size = smoke.plan.recipe.target.vocab_size
    return Client(server.url, timeout_s=server.limits.request_s, vocab_size=vocab_size)


def _ask(smoke: Smoke, temperature: float) -> tuple[Answer, ...]:
    settings, total = smoke.plan.settings, len(smoke.served.prompts)
    return asking.ask(
        smoke.client,
        smoke.served.prompts,
        max_new_tokens=settings.max_new_tokens,
        temperature=temperature,
        ignore_eos=settings.ignore_eos,
        told=lambda count: smoke.told(f"{count} of {total} answers"),
    )


def _version(info: Any) -> Version:
    """Raises ZooError for a server that does not say which it is."""
    try:
        return Version(str(info.get("version")))
    except InvalidVersion as error:
        raise ZooError(
            "the server does not say its version in /server_info",
            hint="zoo speaks to SGLang 0.5.14 to 0.5.23, and to its own reference engine",
        ) from error
