"""What a schema cannot say: arguments that a shell would take apart."""

from __future__ import annotations

import pytest

from zoo.recipe.semantics import of_reference

FLAG = "--speculative-config"


@pytest.mark.parametrize(
    "line",
    [
        f'{FLAG} \'{{"method": "eagle3", "model": "{{draft}}"}}\'',
        f'{FLAG}=\'{{"method": "eagle3"}}\'',
        "--model-path {target}",
        "--speculative-draft-model-path={draft}",
        "{target}",
        "{draft}/weights",
    ],
)
def test_quoted_json_and_placeholders_are_arguments(line: str) -> None:
    assert of_reference("p", {"name": "p", "args": [line]}, {}) == []


@pytest.mark.parametrize(
    "line",
    [
        f'{FLAG} {{"method": "eagle3", "model": "{{draft}}"}}',
        f'{FLAG} {{"method":"eagle3"}}',
        f'{FLAG}={{"method": "eagle3"}}',
        f"{FLAG} '{{method: eagle3}}'",
        '--json-model-override-args {"rope_theta": 1}',
    ],
)
def test_json_that_the_shell_takes_apart_is_an_error_that_shows_the_quotes(line: str) -> None:
    (finding,) = of_reference("p", {"name": "p", "args": [line]}, {})
    assert finding.code == "R007"
    assert "single quotes" in finding.hint
