"""Who may do what: users, the organizations that they belong to, and their tokens.

A token is shown once, when it is made; the directory holds its sha256. (A token is 256 random bits, so a
slow hash would protect nothing more.) One file per user, replaced as a whole: a running server takes note.
"""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from zoo.errors import UsageError
from zoo.hub.disk import Disk, read_json
from zoo.hub.names import is_name
from zoo.printable import quoted

_PREFIX = "zoo_"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: a user, through one token. ``role`` is the token's: ``read`` or ``write``."""

    name: str
    orgs: tuple[str, ...]
    role: str

    def belongs_to(self, owner: str) -> bool:
        """Whether ``owner`` is the user, or an organization of the user."""
        return owner == self.name or owner in self.orgs


@dataclass(frozen=True, slots=True)
class User:
    """``tokens``: {id, sha256, role, created}."""

    name: str
    orgs: tuple[str, ...]
    tokens: tuple[dict[str, Any], ...]


class Users:
    """The ``users/`` of a hub."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._folder = disk.root / "users"
        self._seen = -1
        self._known: tuple[User, ...] = ()

    def all(self) -> tuple[User, ...]:
        """Every user, by name. The files are read again when one was replaced."""
        changed = self._folder.stat().st_mtime_ns
        if changed != self._seen:
            self._known = tuple(_user(read_json(path)) for path in sorted(self._folder.glob("*.json")))
            # A change in the same tick of the clock would look like none: look again until the tick is over.
            self._seen = changed if time.time_ns() - changed > 50_000_000 else -1
        return self._known

    def identify(self, token: str) -> Identity | None:
        """Whose token this is. Every stored digest is compared, each in constant time."""
        digest = sha256(token.encode("utf-8", "replace")).hexdigest()
        found = None
        for user in self.all():
            for known in user.tokens:
                if hmac.compare_digest(known["sha256"], digest):
                    found = Identity(user.name, user.orgs, known["role"])
        return found

    def add(self, name: str, orgs: tuple[str, ...], role: str) -> tuple[str, str]:
        """Make a user, or one more token for a user that is there (who then also belongs to ``orgs``): the
        new token, and the id by which it can be revoked.

        Raises UsageError if a name cannot be used.
        """
        for each in (name, *orgs):
            if not is_name(each):
                raise UsageError(
                    f"{quoted(each)} cannot be the name of a user or an organization",
                    hint="at most 96 letters, digits, '-', '_' and '.', and no word that the hub's paths use",
                )
        names = {user.name for user in self.all()}
        taken = names | {org for user in self.all() for org in user.orgs}
        for each in (name, *orgs):
            alike = {other for other in taken if other.lower() == each.lower() and other != each}
            if alike or (each in names and each in orgs):
                other = next(iter(alike), each)
                hint = "choose another name; upper and lower case count as the same"
                raise UsageError(f"{quoted(each)}: {quoted(other)} is there already", hint=hint)
        old = self._find(name) or User(name, (), ())
        token, identifier = _PREFIX + secrets.token_urlsafe(32), secrets.token_hex(4)
        entry = {
            "id": identifier,
            "sha256": sha256(token.encode()).hexdigest(),
            "role": role,
            "created": int(time.time()),
        }
        self._write(User(name, tuple(dict.fromkeys((*old.orgs, *orgs))), (*old.tokens, entry)))
        return token, identifier

    def revoke(self, name: str, identifier: str) -> None:
        """Make a token invalid. Raises UsageError if there is none of this id."""
        user = self._find(name)
        if user is None or identifier not in {token["id"] for token in user.tokens}:
            raise UsageError(
                f"user {quoted(name)} has no token {quoted(identifier)}", hint="zoo hub user list DIR"
            )
        kept = tuple(token for token in user.tokens if token["id"] != identifier)
        self._write(User(name, user.orgs, kept))

    def _find(self, name: str) -> User | None:
        return next((user for user in self.all() if user.name == name), None)

    def _write(self, user: User) -> None:
        data = {"name": user.name, "orgs": user.orgs, "tokens": user.tokens}
        self._disk.write_json(self._folder / f"{user.name}.json", data, mode=0o600)
        self._seen = -1


def _user(data: Any) -> User:
    return User(data["name"], tuple(data["orgs"]), tuple(data["tokens"]))


def open_users(folder: Path) -> Users:
    """The users of the hub in ``folder``, which is made if it is not there yet. Raises UsageError."""
    from zoo.hub.directory import prepare

    return Users(prepare(folder))
