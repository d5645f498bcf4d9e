"""Rules about shards and their index (F2). ``zoo.checkpoint.index`` finds, this documents."""

from __future__ import annotations

from zoo.results import Severity
from zoo.rules.registry import reported


@reported("F201", "index-unreadable")
def index_unreadable() -> None:
    """The index of the shards is not a JSON object.

    What it does: Reads model.safetensors.index.json strictly: UTF-8, one object, finite numbers, at most 64
    MiB.
    Why is this bad: Engines fail to load the checkpoint.
    Example: An index that a failed download replaced by an HTML page.
    Use instead: The index that was written with the shards.
    Since: 0.1.0
    """


@reported("F202", "index-duplicate-key")
def index_duplicate_key() -> None:
    """A key of the index occurs twice.

    What it does: Looks for repeated keys, above all tensor names in weight_map.
    Why is this bad: Which shard counts depends on the reader.
    Example: Two entries fc.weight that name different shards.
    Use instead: One entry per tensor.
    Since: 0.1.0
    """


@reported("F203", "index-malformed")
def index_malformed() -> None:
    """The index does not map tensor names to *.safetensors files.

    What it does: Requires weight_map with a file name for each tensor; metadata, if present, is an object and
    total_size a number.
    Why is this bad: Engines fail to load the checkpoint, or look for files that they do not load.
    Example: "weight_map": {"fc.weight": 1}
    Use instead: "weight_map": {"fc.weight": "model-00001-of-00002.safetensors"}
    Since: 0.1.0
    """


@reported("F204", "shard-missing")
def shard_missing() -> None:
    """The index names a shard that is not in the folder.

    What it does: Looks for each file that weight_map names.
    Why is this bad: An engine that loads what it finds serves the missing tensors uninitialised.
    Example: model-00002-of-00002.safetensors was not downloaded.
    Use instead: All shards: fetch the repository again.
    Since: 0.1.0
    """


@reported("F205", "shard-not-in-index", needs=("checkpoint", "listing"))
def shard_not_in_index() -> None:
    """The index does not name a weights file of the folder.

    What it does: Looks for *.safetensors files that weight_map does not mention.
    Why is this bad: Engines drop the file silently, so a tensor that only it holds is never loaded.
    Example: model.safetensors beside an index of an older, sharded export.
    Use instead: Either the single file or the shards with their index.
    Sources: sgl-project/sglang 0.5.14, model_loader/weight_utils.py (filter_duplicate_safetensors_files).
    Since: 0.1.0
    """


@reported("F206", "tensor-not-in-shard")
def tensor_not_in_shard() -> None:
    """The index lists a tensor that no shard holds.

    What it does: Looks for each tensor of weight_map in the shard that it names.
    Why is this bad: The index promises a tensor that cannot be loaded; engines leave its parameter
    uninitialised without a message.
    Example: fc.weight is in the index and in no file.
    Use instead: An index that was written with the shards.
    Since: 0.1.0
    """


@reported("F207", "tensor-not-in-index")
def tensor_not_in_index() -> None:
    """A shard holds a tensor that the index does not list.

    What it does: Looks for each tensor of the named shards in weight_map.
    Why is this bad: Readers that go by the index do not see it, readers that go by the file do.
    Example: A tensor that was added to a shard by hand.
    Use instead: An index that was written with the shards.
    Since: 0.1.0
    """


@reported("F208", "tensor-misplaced")
def tensor_misplaced() -> None:
    """The index places a tensor in another shard than the one that holds it.

    What it does: Compares weight_map with the header of each shard.
    Why is this bad: Readers that open the shard which the index names fail.
    Example: fc.weight is listed in shard 1 and lies in shard 2.
    Use instead: An index that was written with the shards.
    Since: 0.1.0
    """


@reported("F209", "tensor-in-two-shards")
def tensor_in_two_shards() -> None:
    """Two weights files hold a tensor of the same name.

    What it does: Compares the names in all headers that an engine would load.
    Why is this bad: The file that is loaded last wins, and without an index the order is that of the file
    system: two hosts can serve different weights.
    Example: model.safetensors and model-ema.safetensors in one folder.
    Use instead: One file per tensor.
    Sources: sgl-project/sglang 0.5.14, model_loader/weight_utils.py.
    Since: 0.1.0
    """


@reported("F210", "total-size", severity=Severity.WARNING)
def total_size() -> None:
    """The total_size of the index is not the size of the data.

    What it does: Adds up the data of all shards and compares it with metadata.total_size, in bytes.
    Why is this bad: Tools plan memory by this number; a wrong one says that the index belongs to another
    export.
    Example: "total_size": 0
    Use instead: The sum over all tensors, as save_pretrained writes it.
    Since: 0.1.0
    """


@reported("F211", "shards-without-index", severity=Severity.WARNING, needs=("checkpoint", "listing"))
def shards_without_index() -> None:
    """Several weights files lie in the folder and no index names them.

    What it does: Counts *.safetensors files when there is no model.safetensors.index.json.
    Why is this bad: SGLang loads all of them, in the order of the file system; other engines refuse the
    folder.
    Example: model.safetensors and extra.safetensors.
    Use instead: One file, or shards with their index.
    Sources: sgl-project/sglang 0.5.14, model_loader/weight_utils.py.
    Since: 0.1.0
    """


@reported("F212", "shard-set-incomplete", needs=("checkpoint", "listing"))
def shard_set_incomplete() -> None:
    """A shard that the names of the others count is missing.

    What it does: Reads the count in names such as model-00001-of-00003.safetensors when there is no index.
    Why is this bad: The tensors of the missing shard stay uninitialised, without a message.
    Example: Shards 1 and 3 of 3.
    Use instead: All shards and their index: fetch the repository again.
    Since: 0.1.0
    """
