"""What Python 3.13 refuses and earlier versions compile: it takes docstrings apart as UTF-8."""

from __future__ import annotations

import ast
from pathlib import Path

import zoo


def test_every_docstring_can_be_written_as_utf_8() -> None:
    for file in Path(zoo.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                (ast.get_docstring(node) or "").encode()
