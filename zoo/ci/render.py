"""The result of ``zoo ci`` in every form that it can be asked for."""

from __future__ import annotations

from zoo.ci.model import CiResult
from zoo.diff.values import finite
from zoo.printable import json_text

# What --format and --write can name. All but "text" are without ANSI codes.
FORMS = ("text", "json", "github", "markdown", "comment", "sarif", "junit")


def render(result: CiResult, form: str) -> str:
    """The result in one of :data:`FORMS`. What renders it is imported when it is asked for."""
    match form:
        case "text":
            from zoo.ci import text

            return text.render(result)
        case "json":
            return json_text(finite(result.as_json()))
        case "github":
            from zoo.report import github

            return github.render(list(result.reports), result.prefix)
        case "markdown":
            from zoo.report import summary

            return summary.render(result)
        case "comment":
            from zoo.report import comment

            return comment.render(result)
        case "sarif":
            from zoo.report import sarif

            return json_text(sarif.document(list(result.reports), result.prefix))
        case "junit":
            from zoo.report import junit

            return junit.render(list(result.reports), "zoo ci")
    raise ValueError(f"unknown form {form!r}")
