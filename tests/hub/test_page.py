"""docs/hub.md names exactly the routes that the hub has."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY
from zoo.hub.app import GROUPS
from zoo.hub.routes import REPO

PAGE = (REPOSITORY / "docs" / "hub.md").read_text(encoding="utf-8")


def test_the_table_of_routes_is_the_hub_s() -> None:
    stated = re.findall(r"^\| ([A-Z]+) `([^`]+)` \|", PAGE, re.MULTILINE)
    routes = [route for group in GROUPS for route in group.ROUTES]
    # Starlette lets every GET answer HEAD too; only files state it.
    served = {(next(iter((route.methods or set()) - {"HEAD"}), "HEAD"), route.path) for route in routes}
    assert {(method, path.replace("REPO", REPO, 1)) for method, path in stated} == served
