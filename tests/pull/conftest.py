"""A draft, and a hub and a web server that have it: those of the remote tests; a zoo that releases: that of
the release tests."""

from tests.release.conftest import _template, place
from tests.remote.conftest import draft, hub, online, site, storage

__all__ = ["_template", "draft", "hub", "online", "place", "site", "storage"]
