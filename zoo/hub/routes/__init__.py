"""The routes of the hub, one file per group. Each has ``ROUTES``."""

REPO = "/api/models/{owner}/{name}"
