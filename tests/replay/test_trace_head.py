"""The target's files: compared with the target file, and of a repository only a part is read. No torch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.conftest import REPOSITORY, Ran
from tests.remote.hub import COMMIT, REPO, Folder, Hub, serve
from tests.replay import traces
from zoo.checkpoint.folder import open_checkpoint
from zoo.drafts import TensorSpec
from zoo.errors import UnreadableError, UsageError
from zoo.recipe.load import usable_recipe, usable_target
from zoo.recipe.model import ModelRef, Target
from zoo.remote.address import Remote
from zoo.replay.layers import after_layer, wanted_layers, with_neighbours
from zoo.replay.target import TargetFiles, target_files
from zoo.replay.writing import recording, write_tensors
from zoo.sources import Sources
from zoo.workspace import Zoo

Run = Callable[..., Ran]
TINY = REPOSITORY / "examples" / "tiny" / "target"
SMALL = {"num_hidden_layers": 3, "hidden_size": 4, "vocab_size": 8}


def small(folder: Path, target: Target, names: tuple[str, ...], **config: object) -> TargetFiles:
    """A model of three layers with the tensors ``names``, all [8, 4]."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**SMALL, **config}))
    specs = {name: TensorSpec("BF16", (8, 4)) for name in names}
    data = {name: traces.noise(spec, at) for at, (name, spec) in enumerate(specs.items())}
    write_tensors(folder / "model.safetensors", specs, {}, data)
    like = replace(target, layers=3, hidden_size=4, vocab_size=8)
    return target_files(like, open_checkpoint(folder, str(folder)))


@pytest.fixture
def tiny(here: Zoo) -> Target:
    return usable_target(here, "tiny")


def test_a_repository_gives_the_same_head_as_its_folder_and_little_of_it_is_read(
    tiny: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    local = target_files(tiny, open_checkpoint(TINY, str(TINY)))
    with recording(tmp_path / "local", traces.plan()) as work:
        expected = local.head.write(work)
    with (
        serve(Folder(TINY)) as storage,
        serve(Hub(TINY, storage.url)) as hub,
        Sources(Remote(hub.url, 5.0)) as sources,
    ):
        files = target_files(tiny, sources.open(f"hf://{REPO}@v1.0.0"))
        with recording(tmp_path / "remote", traces.plan()) as work:
            assert files.head.write(work) == expected
            assert files.head.write(work) == expected  # the second time it is there
        ranges = [seen.range for seen in storage.asked_for("model.safetensors")]
    assert files.folder is None
    assert files.as_index()["target"]["revision"] == COMMIT
    assert files.tokenizer_sha256 == local.tokenizer_sha256
    assert files.config_sha256 == local.config_sha256
    # The header once, then embedding and head once each, from where they begin.
    names = ("model.embed_tokens.weight", "lm_head.weight")
    starts = [files.checkpoint.data_start[name] for name in names]
    assert [each[0] for each in ranges if each] == [0, *starts]


def test_a_pinned_commit_is_kept_to(tiny: Target) -> None:
    remote = replace(open_checkpoint(TINY, "hf://a/b"), revision="1" * 40)
    pinned = replace(tiny, repo=ModelRef("a/b", "1" * 40))
    assert target_files(pinned, remote).as_index()["target"]["revision"] == "1" * 40
    with pytest.raises(UsageError, match="pins another commit"):
        target_files(replace(tiny, repo=ModelRef("a/b", "2" * 40)), remote)


def test_a_head_that_is_tied_by_the_config_or_by_its_absence_is_the_embedding(
    tiny: Target, tmp_path: Path
) -> None:
    both = ("model.embed_tokens.weight", "lm_head.weight")
    assert small(tmp_path / "a", tiny, both, tie_word_embeddings=True).head.tied
    assert small(tmp_path / "a", tiny, both[:1]).head.tied
    assert not small(tmp_path / "a", tiny, both, tie_word_embeddings=False).head.tied
    assert not small(tmp_path / "a", tiny, both).head.tied
    with pytest.raises(UnreadableError, match="have no lm_head"):
        small(tmp_path / "a", tiny, both[:1], tie_word_embeddings=False)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("lm_head.weight",), "have no embedding"),
        (("model.embed_tokens.weight", "lm_head.weight", "lm_head.bias"), "has a bias"),
        (("mtp.embed_tokens.weight", "lm_head.weight"), "have no embedding"),
    ],
)
def test_shards_without_what_is_needed_are_refused(
    tiny: Target, tmp_path: Path, names: tuple[str, ...], said: str
) -> None:
    with pytest.raises((UnreadableError, UsageError), match=said):
        small(tmp_path / "a", tiny, names)


def test_the_shortest_name_is_that_of_the_language_model(tiny: Target, tmp_path: Path) -> None:
    names = ("model.language_model.embed_tokens.weight", "model.visual.embed_tokens.weight")
    files = small(tmp_path / "a", tiny, names, tie_word_embeddings=True)
    assert files.head.nbytes == 8 * 4 * 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda target: replace(target, layers=5), "has layers 4"),
        (lambda target: replace(target, vocab_size=513), "has vocab_size 512"),
        (
            lambda target: replace(target, data={"tokenizer": {"sha256": "0" * 64}}),
            "tokenizer.json .* another",
        ),
    ],
)
def test_files_of_another_target_are_refused(
    tiny: Target, change: Callable[[Target], Target], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        target_files(change(tiny), open_checkpoint(TINY, str(TINY)))


def test_a_folder_without_a_config_is_refused(tiny: Target, tmp_path: Path) -> None:
    shutil.copy(TINY / "model.safetensors", tmp_path)
    with pytest.raises(UnreadableError, match=r"has no config\.json"):
        target_files(tiny, open_checkpoint(tmp_path, str(tmp_path)))


def test_layers_come_from_ids_a_recipe_or_all_recipes_of_the_target(here: Zoo, tiny: Target) -> None:
    kimi = usable_target(here, "kimi-k2.7-code")
    assert wanted_layers(here, tiny, "") == (0, 1, 2)
    assert wanted_layers(here, tiny, "tiny-ft") == (0, 1, 2)
    assert wanted_layers(here, kimi, "") == (1, 12, 24, 35, 47, 58)
    assert wanted_layers(here, kimi, "58,-1,3") == (58, -1, 3)
    with pytest.raises(UsageError, match="no recipe of this zoo states aux layers"):
        wanted_layers(here, replace(tiny, name="other"), "")


def test_a_layer_before_which_a_draft_looks_is_the_output_of_the_one_above(here: Zoo) -> None:
    recipe = usable_recipe(here, "tiny-ft")
    before = replace(recipe, draft=replace(recipe.draft, aux_convention="before-layer"))
    unknown = replace(recipe, draft=replace(recipe.draft, aux_convention="unknown"))
    assert (after_layer(recipe), after_layer(before), after_layer(unknown)) == ((0, 1, 2), (-1, 0, 1), ())


def test_neighbours_stay_within_the_target() -> None:
    assert with_neighbours((26, 0), 27) == (-1, 0, 1, 25, 26)
    assert with_neighbours((5, 6), 27) == (4, 5, 6, 7)


def test_a_target_file_with_a_fault_says_where(new_zoo: Zoo, run_zoo: Run) -> None:
    (new_zoo.recipes / "targets" / "bad.yaml").write_text("target: 1\nname: bad\nlayers: none\n")
    ran = run_zoo("--zoo", new_zoo.root, "trace", "bad", "--conversations", "c", "--out", "t")
    assert ran.status == 1
    assert "recipes/targets/bad.yaml:3" in ran.err
