"""The subject of a verification: every material that was found, and the reason for each one that was not.

A rule names the materials it needs; where one is absent the rule is *not checked* with the reason given
here. ``required`` says whether the requested level includes the material, so that its absence is exit 2 and
not a footnote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.drafts import HEADER_DTYPE, Inventory
from zoo.drafts.eagle3 import spelled_as
from zoo.drafts.family import (
    FAMILIES,
    Family,
    NotInventoriedError,
    family_of,
    family_of_names,
    nothing,
)
from zoo.drafts.keys import DIFFUSION, Keys, Stated, keys_of
from zoo.drafts.layouts import Layout, native
from zoo.drafts.names import Foreign, explain, second
from zoo.engines.hazards import ENGINE_NAMES
from zoo.engines.readings.drafts import Judged, judged
from zoo.engines.readings.words import title
from zoo.printable import quoted
from zoo.recipe.config import config_of, family_of_recipe, inventory_of
from zoo.recipe.model import Profile, Recipe
from zoo.results import Finding, Outcome, Severity, Where, no_evidence, of_these_bytes
from zoo.rules.drafted import Drafted, drafted

if TYPE_CHECKING:
    from zoo.checkpoint.maps import VocabularyMaps
    from zoo.checkpoint.model import Checkpoint
    from zoo.checkpoint.scan import Scan
    from zoo.checkpoint.target import Embedding, TargetModel
    from zoo.engines.commands import Found
    from zoo.evidence import Evidence
    from zoo.recipe.data import DataManifests
    from zoo.rules.launches import Launch


class Absent(NamedTuple):
    """Why a material is not there. ``required``: without it the requested level could not be run."""

    reason: str
    required: bool = True


@dataclass(frozen=True)
class Subject:
    """What the rules look at. ``missing`` says why a material that is None is absent.

    ``training`` is the parsed training manifest, ``base`` the base draft's folder, ``scan`` what a pass
    over every byte found. ``maps`` and ``base_maps`` are the values of the vocabulary maps (empty where the
    draft has none), ``unchanged`` the tensors that are the base's byte for byte. ``target`` is the target by
    its own files, ``target_source`` where they were looked for, ``mask_twins`` the tokens whose embedding is
    that of the mask token. ``data`` are the data manifests, ``engines`` the (name, version) pairs that the
    user named. ``commands`` are launch commands that were found in ``script``, and are judged instead of
    those of the recipe's profiles. ``signers`` are those whose signature counts, ``signed`` the files that
    one of them has signed, ``unhashed`` says which of these nobody has read. ``change`` are the files of a
    pull request that ``zoo ci`` looks at. ``reported`` are the findings that readers recorded, of recipe and
    checkpoint. ``severity`` is how much rules matter in this zoo.
    """

    recipe: Recipe | None
    checkpoint: Checkpoint | None
    recipe_file: str | None = None
    training: Mapping[str, Any] | None = None
    training_file: str = ""
    base: Checkpoint | None = None
    scan: Scan | None = None
    maps: VocabularyMaps | None = None
    base_maps: VocabularyMaps | None = None
    unchanged: frozenset[str] | None = None
    target: TargetModel | None = None
    target_source: str | None = None
    mask_twins: tuple[int, ...] | None = None
    data: DataManifests | None = None
    evidence: tuple[Evidence, ...] | None = None
    engines: tuple[tuple[str, str], ...] = ()
    commands: tuple[Launch, ...] = ()
    script: Found | None = None
    signers: tuple[str, ...] | None = None
    signed: tuple[str, ...] | None = None
    unhashed: Absent | None = None
    change: tuple[str, ...] | None = None
    reported: tuple[Finding, ...] = ()
    missing: Mapping[str, Absent] = field(default_factory=dict)
    today: date = date.max
    severity: Mapping[str, Severity] = field(default_factory=dict)

    @property
    def config(self) -> Mapping[str, Any] | None:
        return None if self.checkpoint is None else self.checkpoint.config

    @property
    def header(self) -> tuple[str, ...] | None:
        """The names of the weights files whose header was understood, or None when one was not."""
        if self.checkpoint is None or not self.checkpoint.weights:
            return None
        names = tuple(file.name for file in self.checkpoint.weights if file.header is not None)
        return names if len(names) == len(self.checkpoint.weights) else None

    @property
    def listing(self) -> tuple[str, ...] | None:
        """The names of all files of the checkpoint, or None where its server cannot list them."""
        return None if self.checkpoint is None or not self.checkpoint.listed else tuple(self.checkpoint.files)

    @property
    def reported_sha256(self) -> Mapping[str, str] | None:
        """File -> the sha256 that the hub states, or None where nobody states any."""
        return (self.checkpoint.reported_sha256 or None) if self.checkpoint is not None else None

    @cached_property
    def readings(self) -> tuple[Judged, ...] | None:
        """What the engines of the recipe's profiles or, without a recipe, those that the user named make of
        the draft."""
        return judged(self.recipe, self.checkpoint, self.engines, self.target)

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """The launch commands to judge: those that were found or, else, those of the recipe's profiles."""
        if self.commands or self.recipe is None:
            return self.commands
        from zoo.rules.launches import of_recipe

        return tuple(of_recipe(self.recipe))

    @property
    def profiles(self) -> tuple[Profile, ...] | None:
        """The same as profiles; None where there is neither a recipe nor a command."""
        if self.commands:
            return tuple(each.profile for each in self.commands)
        return None if self.recipe is None else self.recipe.profiles

    @cached_property
    def drafted(self) -> Drafted | None:
        """The draft that the commands serve: the recipe's or, without one, that of config.json."""
        return drafted(self)

    @property
    def flags(self) -> tuple[Launch, ...] | None:
        """The commands whose engine's flags are known (``zoo engines list``), or None."""
        return tuple(each for each in self.launches if each.parsed is not None) or None

    @property
    def values(self) -> tuple[Launch, ...] | None:
        """The same; a value may be unknown where no flag is (:meth:`gap`)."""
        return self.flags

    @property
    def signed_bytes(self) -> tuple[str, ...] | None:
        """The signed files; the sha256 of one may be unknown (:meth:`gap`)."""
        return self.signed

    @cached_property
    def family(self) -> Family | None:
        """The family of the recipe or, without one, the one that config.json speaks of; where that has no
        word of a family, not even an architecture, the one that the tensors' names speak of."""
        if self.recipe is not None:
            return family_of_recipe(self.recipe)
        if self.config is None or self.checkpoint is None:
            return None
        found = family_of(self.config)
        if found is None and not self.config.get("architectures"):
            found = family_of_names(self.checkpoint.tensors)
        return found

    @property
    def keys(self) -> Keys:
        """The config keys of the family; those of DFlash where the config says no family at all."""
        return (None if self.family is None else keys_of(self.family.name)) or DIFFUSION

    @cached_property
    def stated(self) -> Mapping[str, tuple[Stated, ...]]:
        """config.json as an engine sees it: canonical key -> the places that state it."""
        found = self.keys.stated(self.layout.config)
        return {
            key: tuple(each._replace(pointer=self.layout.pointer(each.pointer)) for each in places)
            for key, places in found.items()
        }

    @cached_property
    def layout(self) -> Layout:
        """config.json made flat: the nested config of speculators means the same as another flat one."""
        return native(self.config or {})

    @property
    def mask(self) -> Stated | None:
        """The mask token id that the config states first, if it is a token id at all (C031)."""
        found = self.stated.get("mask_token_id", ())
        return found[0] if found and type(found[0].value) is int and found[0].value >= 0 else None

    @property
    def tokenizer(self) -> str | None:
        """The sha256 of the target's tokenizer.json, or None without one."""
        return (self.target.tokenizer_sha256 or None) if self.target is not None else None

    @property
    def embedding(self) -> Embedding | None:
        """Where the target's embedding is, or None where no header shows it."""
        return None if self.target is None else self.target.embedding

    @property
    def replay(self) -> Outcome | None:
        """What replay evidence says of the gate that the recipe asks for, or None where nothing decides."""
        outcome = self.gate("replay")[0]
        return None if outcome is Outcome.NOT_CHECKED else outcome

    @property
    def smoke(self) -> Outcome | None:
        """The same of smoke evidence."""
        outcome = self.gate("smoke")[0]
        return None if outcome is Outcome.NOT_CHECKED else outcome

    def gate(self, kind: str) -> tuple[Outcome, str]:
        """The outcome of the gate ``kind`` (replay or smoke) by the evidence that counts, and the reason.

        Below deep level nobody has compared the bytes with those of the record: one that passed may be of
        others, so that it proves nothing here; one that failed is shown.
        """
        if self.recipe is None or kind not in self.recipe.gates:
            return Outcome.NOT_CHECKED, "the recipe does not ask for this gate"
        if not self.evidence:
            return Outcome.NOT_CHECKED, no_evidence(kind)
        from zoo.release.gates import of_evidence

        outcome, reason = of_evidence(kind, self.evidence, self.recipe)
        if outcome is Outcome.PASSED and self.scan is None:
            return Outcome.NOT_CHECKED, f"{kind} passed; {of_these_bytes(self.recipe.name)}"
        return outcome, reason

    def _hides(self, kind: str) -> bool:
        """Whether the recipe asks for the gate ``kind``, and there is a record for it whose signature nothing
        here can check."""
        asked = self.recipe is not None and kind in self.recipe.gates
        return asked and any(each.kind == kind and each.unseen for each in self.evidence or ())

    @property
    def claimed(self) -> tuple[Evidence, ...]:
        """The records that measured claims of the recipe rest on."""
        claims = () if self.recipe is None else self.recipe.claims
        names = {claim.evidence for claim in claims if claim.source == "measured"}
        return tuple(each for each in self.evidence or () if each.name in names)

    @property
    def disjoint(self) -> bool | None:
        """None where the recipe says disjoint and no two data manifests can be compared."""
        if self.recipe is None or self.data is None:
            return None
        stated = self.recipe.training.data.get("disjoint_from", ())
        return None if stated and len(self.data.unchecked(self.recipe)) == len(stated) else True

    @cached_property
    def inventory(self) -> Inventory | None:
        """The tensors that the recipe implies or, without one, config.json; None if nobody can say."""
        return self._inventories[0]

    @cached_property
    def optional(self) -> Inventory:
        """Tensors that a file of this config may have besides."""
        return self._inventories[1]

    @cached_property
    def _inventories(self) -> tuple[Inventory | None, Inventory, str]:
        """The inventory, the optional tensors, and why there are none of either."""
        config, dtype = self._described
        if self.family is None or config is None:
            return None, {}, "config.json does not describe a draft that this version knows"
        try:
            if self.recipe is not None:
                needed, besides = inventory_of(self.recipe), nothing(config, dtype)
            else:
                needed, besides = self.family.inventory(config, dtype), self.family.optional(config, dtype)
        except NotInventoriedError as error:
            return None, {}, str(error)
        except (KeyError, TypeError, ZeroDivisionError) as error:
            lack = f"it does not state {error.args[0]}" if isinstance(error, KeyError) else str(error)
            return None, {}, f"config.json does not describe {self.family.draft}: {lack}"
        held = () if self.checkpoint is None else self.checkpoint.tensors
        return spelled_as(held, needed), spelled_as(held, besides), ""

    @property
    def _described(self) -> tuple[Mapping[str, Any] | None, str]:
        """The config that decides the inventory, and the dtype of its float tensors."""
        if self.recipe is not None:
            return config_of(self.recipe), self.recipe.checkpoint.dtype
        spelled = {header: name for name, header in HEADER_DTYPE.items()}
        tensors = self.checkpoint.tensors.values() if self.checkpoint is not None else ()
        held = [tensor.dtype for tensor in tensors if tensor.dtype in spelled]
        return self.config, spelled[max(sorted(set(held)), key=held.count, default="BF16")]

    @cached_property
    def foreign_names(self) -> Mapping[str, Foreign]:
        """The tensors of the file that the inventory does not know but that we can explain."""
        held = self.checkpoint.tensors if self.checkpoint is not None else {}
        wanted = {**(self.inventory or {}), **self.optional}
        explained = {name: explain(name, wanted) for name in held if name not in wanted}
        return {
            name: second(found.native) if found.native is not None and found.native in held else found
            for name, found in explained.items()
            if found is not None
        }

    def absent(self, material: str) -> Absent | None:
        """Why ``material`` is not there, or None if it is."""
        if material == "config" and self.config is not None and self.recipe is None:
            return self._unread_config()
        if getattr(self, material) is not None:
            return None
        if material in ("profiles", "flags", "values", "drafted") and not self.launches:
            material = "recipe"
        if self.checkpoint is None and material in ("config", "header", "inventory", "listing", "maps"):
            material = "checkpoint"
        if material == "signed_bytes":
            material = "signed"
        if self.base is None and material in ("base_maps", "unchanged"):
            material = "base"
        if self.target is None and material in ("tokenizer", "embedding", "mask_twins", "target_source"):
            material = "target"
        if material in ("flags", "values"):
            return Absent(self._no_flags(), required=bool(self.commands))
        reasons = {
            "config": Absent("config.json could not be read"),
            "header": Absent("a weights file could not be understood, or there is none"),
            "inventory": Absent(self._inventories[2]),
            "listing": Absent("a plain web server cannot say which other files it has", required=False),
            "reported_sha256": Absent("only a hub states the sha256 of its files", required=False),
            "tokenizer": Absent("the target's folder has no tokenizer.json", required=False),
            "embedding": Absent("no header in the target's folder shows its embedding", required=False),
            "mask_twins": Absent("no header in the target's folder shows its embedding", required=False),
            "disjoint": Absent(
                "there are no two data manifests in one form, of the training data and of what it excludes",
                required=False,
            ),
            "readings": Absent(self._unread_engines(), required=False),
            "drafted": Absent("no draft was given; add --recipe NAME or --draft FOLDER", required=False),
            "replay": Absent(self.gate("replay")[1], required=self._hides("replay")),
            "smoke": Absent(self.gate("smoke")[1], required=self._hides("smoke")),
        }
        return (
            self.missing.get(material)
            or reasons.get(material)
            or Absent(f"no {material} was given", required=False)
        )

    def gap(self, material: str) -> Absent | None:
        """Why ``material`` is there only in part, so that a rule without findings has not passed; None if it
        is whole. An engine that was named, or that a profile pins, may have a loader that nobody has read for
        such a draft; of a command in a text, only its shell may know what a variable stands for; of a signed
        file, only --deep tells the sha256; of a signed record, only the extra ``sign`` whether it counts."""
        if material in ("flags", "values", "profiles"):
            return self._hidden(material)
        if material == "signed_bytes":
            return self.unhashed
        if material == "claimed":
            return next((Absent(f"{each.name}: {each.stale}") for each in self.claimed if each.unseen), None)
        judged = self.readings if material == "readings" else None
        open_ones = [each.reading for each in judged or () if not each.reading.covered]
        if not open_ones:
            return None
        said = "; ".join(f"{title(reading)}: {reading.notes[0]}" for reading in open_ones)
        return Absent(f"{said} (docs/engines.md)")

    def _hidden(self, material: str) -> Absent | None:
        """The parts of the commands that cannot be judged: whole commands, arguments, or the values of
        flags."""
        if self.script is not None and self.script.unread:
            lines = ", ".join(str(line) for line in sorted({each.line for each in self.script.unread})[:5])
            what = "may start a server in a way that is not read (eval, a variable, a string)"
            return Absent(f"line {lines} {what}; write the command out, or check it by itself")
        if material != "profiles" and any(each.parsed is None for each in self.launches):
            return Absent(self._no_flags(), required=bool(self.commands))
        hidden = [(each, index) for each in self.commands for index in each.hidden_arguments]
        arguments = bool(hidden)
        if not hidden and material == "values":
            hidden = [(each, index) for each in self.commands for index in each.hidden_values]
        if not hidden:
            return None
        shown = ", ".join(
            f"{quoted(each.said[index].text, 40)} in line {each.where(index).line}"
            for each, index in hidden[:5]
        )
        more = f" and {len(hidden) - 5} more" if len(hidden) > 5 else ""
        what = "what arguments come with" if arguments else "the value of"
        return Absent(f"{what} {shown}{more} is only known at start", required=arguments)

    def _no_flags(self) -> str:
        unknown = {
            f"{ENGINE_NAMES[each.profile.engine]} {each.profile.version}"
            for each in self.launches
            if each.parsed is None
        }
        return f"no snapshot of the flags of {', '.join(sorted(unknown))} ships (see: zoo engines list)"

    def _unread_engines(self) -> str:
        if self.recipe is not None:
            return "no engine of the recipe's profiles was read (docs/engines.md)"
        if not self.engines:
            return "no engine was named; zoo verify SOURCE --engine NAME==VERSION asks one"
        return "config.json or a header cannot be read"

    def _unread_config(self) -> Absent | None:
        """Why the rules about a config do not apply to this one: nobody has listed its family's keys."""
        stated = (self.config or {}).get("architectures")
        if self.family is None and stated and isinstance(stated, list | str):  # C071: anything else
            known = ", ".join(family.title for family in FAMILIES)
            named = quoted(str(stated), 80)
            return Absent(f"{named} is not a draft that this version knows; it knows {known}")
        if self.family is not None and keys_of(self.family.name) is None:
            return Absent(f"the config keys of {self.family.draft} are not listed in this version")
        return None

    def relate(self, finding: Finding) -> tuple[Where, ...]:
        """The lines that the finding contradicts; for a file of the checkpoint, at least where the recipe
        declares it."""
        if finding.related or self.recipe is None or self.checkpoint is None or finding.where.file is None:
            return finding.related
        if finding.where.file == self.recipe.file or finding.where.line is not None:
            return ()
        name = finding.where.file.replace("~", "~0").replace("/", "~1")
        return (self.recipe.where(f"/checkpoint/files/{name}"),)
