"""``zoo ci``: what a change touches, and everything that is said about it."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date

from zoo import __version__
from zoo.ci.affected import References, affected, is_of_zoo
from zoo.ci.base import BaseZoo
from zoo.ci.draft import Drafts
from zoo.ci.git import Repository
from zoo.ci.model import CiResult
from zoo.ci.tree import GATE, Tree
from zoo.ci.untracked import untracked
from zoo.remote.address import Remote
from zoo.results import Report
from zoo.workspace import Zoo

_TOOL = f"draft-zoo {__version__}"


def check_change(
    zoo: Zoo, ref: str | None, remote: Remote, today: date, *, offline: bool = False
) -> CiResult:
    """Judge the work tree of ``zoo`` against where its history left ``ref`` (None: the usual main branch).

    ``offline``: no server is contacted, and what would need one is not checked, and not demanded.

    Raises:
        UsageError: there is no such base.
        UnreadableError: no git repository, no common history, or a record at the base cannot be read.
        SettingsError: the settings, or the key of a signer, cannot be used.
    """
    repository = Repository(zoo.root)
    found = repository.base(ref)
    with ExitStack() as stack:
        later = None
        if found.ahead:
            later = stack.enter_context(BaseZoo(repository, found.tip, name=found.name))
        base = stack.enter_context(BaseZoo(repository, found.commit, later=later))
        changed = repository.changed(found.commit, base.entries)
        references = References(zoo)
        causes = affected(zoo, changed, references)
        looked_at = frozenset(cause.path for each in causes.values() for cause in each)
        above = repository.above(found.commit, *GATE)
        results = Tree(zoo, base, changed, looked_at, above, repository.prefix, references, causes).results()
        tree = Report("change", {"files": len(changed)}, results, tool=_TOOL)
        frozen = frozenset(str(finding.where.file) for finding in tree.findings if finding.code == "V003")
        drafts = Drafts(base.policy(zoo), base, changed, frozen, remote, today, offline)
        judged = tuple(drafts.check(name, each) for name, each in causes.items())
        named = {finding.where.file for finding in tree.findings}
        # Before the first commit nothing is in git, which is no news. Of a recipe that only a template
        # affects, nothing but the card is looked at.
        read = [name for name, each in causes.items() if any(cause.how != "template" for cause in each)]
        unseen = untracked(zoo, read, references, repository.index) if repository.head else ()
        return CiResult(
            base=found.name,
            base_commit=found.commit,
            head_commit=repository.head or "",
            dirty=bool(changed) if repository.head in (None, found.commit) else repository.dirty,
            changed=tuple(
                file
                for file in changed
                if is_of_zoo(file.path) or file.path in looked_at or file.path in named
            ),
            tree=tree,
            drafts=judged,
            prefix=repository.prefix,
            base_ahead=found.ahead,
            untracked=unseen,
            tool=_TOOL,
        )
