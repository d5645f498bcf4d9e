"""What a server printed, fit to be published."""

from __future__ import annotations

import pytest

from zoo.smoke.redact import redacted, redacted_values


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("loading /home/me/models/x.bin now", "loading [path] now"),
        ("model_path='/srv/t', dtype=auto", "model_path='[path]', dtype=auto"),
        ('File "/usr/lib/python3.11/x.py", line 3', 'File "[path]", line 3'),
        ("under ~/models and C:\\models\\x", "under [path] and [path]"),
        ("http://127.0.0.1:30000/health 2026/11/30 1/2 it/s torch/nn", None),
        ("token hf_abcdefghijklmnopqrst", "token [secret]"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer [secret]"),
        ("--api-key=verysecret", "--api-key=[secret]"),
        ("\x1b[31mred\u202e", "\\x1b[31mred\\u202e"),
    ],
)
def test_paths_secrets_and_control_characters_do_not_get_out(text: str, published: str | None) -> None:
    assert redacted(text) == (text if published is None else published)


def test_a_known_path_has_a_word() -> None:
    places = {"/models": "{models}", "/models/kimi": "{target}"}
    assert redacted("from /models/kimi/config.json", places) == "from {target}/config.json"


def test_texts_of_measurements_are_redacted_and_numbers_are_left_alone() -> None:
    assert redacted_values({"a": "/x/y", "b": 3, "c": [1.5]}) == {"a": "[path]", "b": 3, "c": [1.5]}
