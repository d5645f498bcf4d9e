from pathlib import Path

from tests.corpus.kit import arguments, caveat, edit_profile, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    arguments(folder, "--trust-remote-code", "--context-length 4096")
    edit_profile(folder, "  - --max-running-requests 16\n", "")
    caveat(folder, "E016, E017, E019")
