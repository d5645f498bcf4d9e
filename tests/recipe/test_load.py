"""Recipes, targets and profiles: all errors at once, at file, line and column, with the next action."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zoo.errors import InvalidRecipeError, NoSuchRecipeError
from zoo.recipe.load import Loaded, load_recipe, recipe_names, usable_recipe
from zoo.results import Finding
from zoo.workspace import Zoo

RECIPE = "recipes/example-draft.yaml"


def edit(zoo: Zoo, old: str, new: str, file: str = RECIPE) -> None:
    path = zoo.root / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def only(loaded: Loaded) -> Finding:
    assert loaded.recipe is None
    (finding,) = loaded.findings
    return finding


def line_of(zoo: Zoo, text: str, file: str = RECIPE) -> int:
    lines = (zoo.root / file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("old", "new", "code", "at", "hint"),
    [
        ("  block_size: 8", "  blocksize: 8", "R005", "blocksize", 'Did you mean "block_size"?'),
        ("title: An example draft\n", "", "R006", "recipe: 1", "add title: ..."),
        ("layers: 2", "layers: six", "R007", "layers: six", "expected integer"),
        ("layers: 2", "layers: 0", "R007", "layers: 0", "at least 1"),
        ("convention: after-layer", "convention: after", "R007", "after", 'Did you mean "after-layer"?'),
        ("version: 0.1.0", "version: 1.0", "R008", "version", "SemVer"),
        ("version: 0.1.0", "version: v1.0.0", "R008", "version", "SemVer"),
        ("version: 0.1.0", "version: 01.0.0", "R008", "version", "SemVer"),
        ("repo: your-name/", "repo: ../../", "R008", "repo", "owner/name"),
        ("repo: your-name/", "repo: a--b/", "R008", "repo", "owner/name"),
        ("repo: your-name/example-draft", "repo: a/b.git", "R008", "repo", "owner/name"),
        ("{model.safetensors: weights", "{../x.safetensors: weights", "R008", "../x", "plain file name"),
        ("{model.safetensors: weights", "{/etc/passwd: weights", "R008", "/etc/passwd", "plain file name"),
        ("{model.safetensors: weights", "{a/../b: weights", "R008", "a/../b", "plain file name"),
        ("config.json: config}", "README.md: document}", "R008", "README.md", "written by the tool"),
        ("weights,", "weight,", "R007", "weight,", 'Did you mean "weights"?'),
        (
            "target: example-target",
            "target: example-targt",
            "R009",
            "targt",
            'Did you mean "example-target"?',
        ),
        ("serve: [sglang-0.5.14-example]", "serve: [nothing]", "R009", "nothing", "write recipes/profiles"),
        ("name: example-draft", "name: other", "R011", "name: other", "same name"),
        ("name: example-draft", "name: ../other", "R008", "name: ../other", "a name"),
        ("  borrows:", "  assumed: [/ropes]\n  borrows:", "R012", "ropes", 'Did you mean "/rope"?'),
        ("source: unknown", "source: model", "R008", "source: model", "a source"),
        ("source: unknown", "source: http://host/x", "R008", "http", "a source"),
        ("recipe: 1", "recipe: 2", "R007", "recipe: 2", "the version of this format"),
        ("rope: {type: default, theta: 10000}", "rope: {type: yarm, theta: 1}", "R007", "yarm", '"yarn"'),
        ("license: {id: apache-2.0}", "license: {name: x}", "R006", "license", "add id"),
    ],
)
def test_a_wrong_recipe_gets_one_finding_at_its_line(
    new_zoo: Zoo, old: str, new: str, code: str, at: str, hint: str
) -> None:
    edit(new_zoo, old, new)
    finding = only(load_recipe(new_zoo, "example-draft"))
    assert finding.code == code
    assert finding.where.file == RECIPE
    assert finding.where.line == line_of(new_zoo, at)
    assert finding.where.column
    assert hint in finding.hint


def test_an_argument_with_an_open_quote_is_refused_in_its_profile(new_zoo: Zoo) -> None:
    profile = "recipes/profiles/sglang-0.5.14-example.yaml"
    edit(new_zoo, "  - --tp-size 1", "  - --tp-size '1", profile)
    finding = only(load_recipe(new_zoo, "example-draft"))
    assert (finding.code, finding.where.file) == ("R007", profile)
    assert finding.where.line == line_of(new_zoo, "--tp", profile)


def test_all_errors_of_all_files_come_at_once(new_zoo: Zoo) -> None:
    edit(new_zoo, "layers: 2", "layers: two")
    edit(new_zoo, "version: 0.1.0", "version: one")
    edit(new_zoo, "layers: 4", "layers: -1", "recipes/targets/example-target.yaml")
    edit(new_zoo, "engine: sglang==0.5.14", "engine: sglang", "recipes/profiles/sglang-0.5.14-example.yaml")
    found = load_recipe(new_zoo, "example-draft").findings
    assert len(found) == 4
    assert {finding.where.file for finding in found} == {
        RECIPE,
        "recipes/targets/example-target.yaml",
        "recipes/profiles/sglang-0.5.14-example.yaml",
    }


def test_an_unknown_name_is_met_with_the_closest_one(new_zoo: Zoo) -> None:
    with pytest.raises(NoSuchRecipeError) as caught:
        load_recipe(new_zoo, "example-drft")
    assert 'Did you mean "example-draft"?' in caught.value.hint


@pytest.mark.parametrize("name", ["../example-draft", "targets/example-target", "", ".", "a/b", "nul\0"])
def test_a_name_never_leaves_the_recipes_folder(new_zoo: Zoo, name: str) -> None:
    with pytest.raises(NoSuchRecipeError):
        load_recipe(new_zoo, name)


def test_an_all_digit_commit_stays_text(new_zoo: Zoo) -> None:
    digits = "1234567890" * 4
    edit(new_zoo, "revision: unknown", f"revision: {digits}", "recipes/targets/example-target.yaml")
    assert usable_recipe(new_zoo, "example-draft").target.repo.revision == digits


def test_short_digit_strings_stay_text_too(new_zoo: Zoo) -> None:
    edit(new_zoo, "title: An example draft", "title: 12")
    assert usable_recipe(new_zoo, "example-draft").title == "12"


def test_a_branch_does_not_pin(new_zoo: Zoo) -> None:
    edit(new_zoo, "revision: unknown", "revision: main", "recipes/targets/example-target.yaml")
    assert usable_recipe(new_zoo, "example-draft").target.repo.revision is None


def child(zoo: Zoo, text: str) -> None:
    (zoo.recipes / "child.yaml").write_text(text)


def test_extends_merges_maps_replaces_lists_and_deletes_with_null(new_zoo: Zoo) -> None:
    child(
        new_zoo,
        "extends: example-draft\nname: child\nversion: 2.0.0\n"
        "draft: {aux_layers: {ids: [1, 2]}, config: {tie_word_embeddings: null, hidden_size: 64}}\n",
    )
    recipe = usable_recipe(new_zoo, "child")
    assert recipe.version == "2.0.0"
    assert recipe.draft.aux_ids == (1, 2)
    assert recipe.draft.aux_convention == "after-layer"
    assert recipe.draft.config["hidden_size"] == 64
    assert "tie_word_embeddings" not in recipe.draft.config
    assert recipe.draft.config["vocab_size"] == 512


def test_a_finding_points_at_the_file_that_said_it(new_zoo: Zoo) -> None:
    child(new_zoo, "extends: example-draft\nname: child\n")
    edit(new_zoo, "layers: 2", "layers: two")
    assert only(load_recipe(new_zoo, "child")).where.file == RECIPE
    edit(new_zoo, "layers: two", "layers: 2")
    child(new_zoo, "extends: example-draft\nname: child\ndraft: {layers: two}\n")
    finding = only(load_recipe(new_zoo, "child"))
    assert (finding.where.file, finding.where.line) == ("recipes/child.yaml", 3)


def test_a_circle_of_extends_is_found(new_zoo: Zoo) -> None:
    child(new_zoo, "extends: other\nname: child\n")
    (new_zoo.recipes / "other.yaml").write_text("extends: child\nname: other\n")
    finding = only(load_recipe(new_zoo, "child"))
    assert finding.code == "R010"
    assert "child -> other -> child" in finding.message


def test_a_long_chain_of_extends_is_refused(new_zoo: Zoo) -> None:
    for index in range(12):
        (new_zoo.recipes / f"c{index}.yaml").write_text(f"extends: c{index + 1}\nname: c{index}\n")
    (new_zoo.recipes / "c12.yaml").write_text("extends: example-draft\nname: c12\n")
    assert only(load_recipe(new_zoo, "c0")).code == "R010"


def test_extends_of_a_path_is_no_recipe(new_zoo: Zoo) -> None:
    child(new_zoo, "extends: ../../secret\nname: child\n")
    assert only(load_recipe(new_zoo, "child")).code == "R010"


def test_a_link_out_of_the_zoo_is_not_read(new_zoo: Zoo, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("recipe: 1\n")
    (new_zoo.recipes / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    assert only(load_recipe(new_zoo, "link")).code == "X010"


def test_an_invalid_recipe_is_an_error_that_carries_its_findings(new_zoo: Zoo) -> None:
    edit(new_zoo, "layers: 2", "layers: two")
    with pytest.raises(InvalidRecipeError) as caught:
        usable_recipe(new_zoo, "example-draft")
    assert caught.value.exit_status == 1
    assert len(caught.value.findings) == 1


def test_every_recipe_of_this_repository_is_usable(here: Zoo) -> None:
    for name in recipe_names(here):
        assert usable_recipe(here, name).name == name


def test_messages_never_carry_control_characters(new_zoo: Zoo) -> None:
    edit(new_zoo, "layers: 2", 'layers: "\\e[31m\\u202ex"')
    finding = only(load_recipe(new_zoo, "example-draft"))
    assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e]", finding.message + finding.hint)


@pytest.mark.parametrize("code", ["D001", "I001", "F110", "X007"])
def test_broken_or_hostile_files_cannot_be_waived(new_zoo: Zoo, code: str) -> None:
    edit(new_zoo, "serve:", f"waivers:\n  - {{code: {code}, reason: we know, until: 2030-01-01}}\nserve:")
    finding = only(load_recipe(new_zoo, "example-draft"))
    assert finding.code == "R014"
    assert finding.where.line == line_of(new_zoo, f"code: {code}")


def test_a_recipe_with_the_other_ending_is_named(new_zoo: Zoo) -> None:
    (new_zoo.recipes / "other.yml").write_text("recipe: 1\n")
    with pytest.raises(NoSuchRecipeError) as caught:
        load_recipe(new_zoo, "other")
    assert "rename it to other.yaml" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (
            "license: {id: apache-2.0}",
            "license: apache",
            '"license" is "apache"',
            "expected unknown or {id: ...}, e.g. {id: apache-2.0}",
        ),
        (
            "caveats: [E008,",
            "caveats: [E08,",
            '"caveats[0]" is "E08"',
            "expected a rule code, e.g. E001 or {text: ...}",
        ),
        (
            "family: dflash",
            "family: dflsh",
            '"family" is "dflsh"',
            "expected a draft family that this version has recipes for: dflash, dflash2, domino, dspark, "
            'eagle3, peagle. Did you mean "dflash"?',
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_the_form_that_is_expected(
    new_zoo: Zoo, old: str, new: str, message: str, hint: str
) -> None:
    edit(new_zoo, old, new)
    finding = only(load_recipe(new_zoo, "example-draft"))
    assert (finding.message, finding.hint) == (message, hint)
