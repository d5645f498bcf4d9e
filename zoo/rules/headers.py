"""Rules about safetensors headers (F1). ``zoo.checkpoint.safetensors`` finds, this documents."""

from __future__ import annotations

from zoo.results import Severity
from zoo.rules.registry import reported


@reported("F101", "file-too-short")
def file_too_short() -> None:
    """A weights file is too short to be a safetensors file.

    What it does: Requires the 8 bytes that hold the length of the header.
    Why is this bad: Nothing can be loaded from it.
    Example: A copy that stopped after 7 bytes.
    Use instead: The whole file: fetch it again and compare its sha256.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F102", "header-beyond-file")
def header_beyond_file() -> None:
    """The header claims more bytes than the file has.

    What it does: Compares the length in the first 8 bytes with the size of the file.
    Why is this bad: The download stopped within the header, or the file is of another format.
    Example: A header of 7,000 bytes in a file of 4,096.
    Use instead: The whole file: fetch it again and compare its sha256.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F103", "header-length-zero")
def header_length_zero() -> None:
    """The length of the header is 0.

    What it does: Requires at least one byte of header.
    Why is this bad: A header holds at least {}; a zero means that the file was reserved and never written.
    Example: Eight zero bytes, then data.
    Use instead: The file as the trainer wrote it.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F104", "header-over-limit")
def header_over_limit() -> None:
    """The header is larger than any reader accepts.

    What it does: Refuses a header above 100,000,000 bytes, the limit of the reference implementation.
    Why is this bad: Other readers refuse the file; a reader without the limit can be made to stall or to
    exhaust its memory.
    Example: First 8 bytes that read as 2^63.
    Use instead: Fewer or shorter names and metadata; a real header has about 100 bytes per tensor.
    Sources: safetensors/src/tensor.rs, MAX_HEADER_SIZE; safetensors attacks/README.md.
    Since: 0.1.0
    """


@reported("F105", "header-not-json")
def header_not_json() -> None:
    """The header is not JSON.

    What it does: Decodes the header as UTF-8 and as JSON: no byte order mark, no cut or mangled text, no
    nesting or integers without bound.
    Why is this bad: Engines fail to load the file.
    Example: A header that ends in the middle of a name.
    Use instead: The file as safetensors.torch.save_file writes it.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F106", "header-not-object")
def header_not_object() -> None:
    """The header is JSON but not an object.

    What it does: Requires an object that maps tensor names to their description.
    Why is this bad: Engines fail to load the file.
    Example: [] as the whole header.
    Use instead: The file as safetensors.torch.save_file writes it.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F107", "metadata-not-unicode")
def metadata_not_unicode() -> None:
    """The metadata holds half of a surrogate pair.

    What it does: Requires that keys and values of __metadata__ can be written as UTF-8.
    Why is this bad: JSON escapes can spell text that is no text; the reference implementation refuses it and
    other readers crash when they print it.
    Example: A metadata value written as \\ud800.
    Use instead: Metadata of plain text.
    Sources: RFC 8259, section 8.2.
    Since: 0.1.0
    """


@reported("F108", "header-leading-space")
def header_leading_space() -> None:
    """White space stands before the first brace of the header.

    What it does: Requires { as the first byte of the header.
    Why is this bad: The format demands it, so that file types can be told apart by their first bytes. The
    reference implementation accepts the space, other readers do not.
    Example: A header that starts with a space or a line break.
    Use instead: The file as safetensors.torch.save_file writes it.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F109", "header-padding")
def header_padding() -> None:
    """The header is padded with other bytes than spaces.

    What it does: Requires that only spaces (0x20) follow the last brace.
    Why is this bad: NUL bytes make the reference implementation fail; line breaks and tabs pass there and
    fail in stricter readers.
    Example: A header that was padded with NUL bytes to a multiple of 8.
    Use instead: Spaces, as safetensors.torch.save_file writes them.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F110", "duplicate-tensor")
def duplicate_tensor() -> None:
    """The header describes one tensor twice.

    What it does: Looks for a repeated name among the tensors of one file.
    Why is this bad: The format forbids it and the reference implementation does not notice: one reader takes
    the first description, another the last, so two engines serve different weights from the same bytes.
    Example: Two entries fc.weight, one of them with the dtype F16.
    Use instead: One entry per tensor: write the file again.
    Sources: safetensors README, "Format". Trail of Bits review of safetensors, TOB-SFTN-7, quoted in
    ggml-org/llama.cpp#1603.
    Since: 0.1.0
    """


@reported("F111", "duplicate-metadata")
def duplicate_metadata() -> None:
    """The header has __metadata__ twice.

    What it does: Looks for a second __metadata__ in one header.
    Why is this bad: The reference implementation refuses the file; other readers take one of the two.
    Example: Two __metadata__ objects, written by two tools in turn.
    Use instead: One object that holds the keys of both.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F112", "duplicate-metadata-key")
def duplicate_metadata_key() -> None:
    """A key of the metadata occurs twice.

    What it does: Looks for a repeated key within __metadata__.
    Why is this bad: Which value counts depends on the reader; the reference implementation does not notice.
    Example: Two keys format with the values pt and np.
    Use instead: One value per key.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F113", "duplicate-tensor-field")
def duplicate_tensor_field() -> None:
    """The description of a tensor has a field twice.

    What it does: Looks for a repeated dtype, shape or data_offsets.
    Why is this bad: The reference implementation refuses the file; other readers take one of the two.
    Example: "shape": [64], "shape": [32]
    Use instead: One field of each kind: write the file again.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F114", "metadata-null")
def metadata_null() -> None:
    """The metadata is null.

    What it does: Requires that __metadata__, if present, is an object.
    Why is this bad: The reference implementation accepts null, readers that iterate over it crash.
    Example: "__metadata__": null
    Use instead: No __metadata__, or {"format": "pt"}.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F115", "metadata-not-strings")
def metadata_not_strings() -> None:
    """The metadata is not an object whose values are strings.

    What it does: Requires text for every value of __metadata__.
    Why is this bad: The format allows strings only; engines fail to load the file.
    Example: "__metadata__": {"step": 383}
    Use instead: "__metadata__": {"step": "383"}
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F116", "malformed-tensor-entry")
def malformed_tensor_entry() -> None:
    """The description of a tensor is not an object with dtype, shape and data_offsets.

    What it does: Requires an object that has all three fields.
    Why is this bad: Nothing says where the tensor is. The reference implementation lets a list of the three
    values pass; other readers fail.
    Example: "norm.weight": ["BF16", [64], [0, 128]]
    Use instead: "norm.weight": {"dtype": "BF16", "shape": [64], "data_offsets": [0, 128]}
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F117", "unknown-tensor-field")
def unknown_tensor_field() -> None:
    """The description of a tensor has a field that the format does not know.

    What it does: Allows dtype, shape and data_offsets, and nothing else.
    Why is this bad: A field that one reader honours and another ignores makes them load different tensors.
    Example: A field "strides" or "quantization" beside the three.
    Use instead: Text in __metadata__, or a key of config.json.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F118", "unknown-dtype")
def unknown_dtype() -> None:
    """A tensor has a dtype that the format does not know.

    What it does: Compares with the dtypes of safetensors 0.8, in their spelling.
    Why is this bad: Engines fail to load the file.
    Example: "dtype": "bfloat16"
    Use instead: "dtype": "BF16"
    Sources: safetensors/src/tensor.rs, enum Dtype.
    Since: 0.1.0
    """


@reported("F119", "malformed-shape")
def malformed_shape() -> None:
    """The shape of a tensor is not a list of integers from 0 up.

    What it does: Refuses negative numbers, floats, strings, true and false, and -0.
    Why is this bad: Readers refuse it, or round and wrap it in different ways.
    Example: "shape": [64.0] or [-1]
    Use instead: "shape": [64]
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F120", "malformed-offsets")
def malformed_offsets() -> None:
    """The data_offsets of a tensor are not two integers in order.

    What it does: Requires 0 <= begin <= end < 2^63.
    Why is this bad: Readers refuse it, or read outside of the data.
    Example: "data_offsets": [128, 0]
    Use instead: "data_offsets": [0, 128]
    Sources: safetensors README, "Format". safetensors attacks/README.md.
    Since: 0.1.0
    """


@reported("F121", "shape-overflow")
def shape_overflow() -> None:
    """The shape of a tensor multiplies to 2^63 bits or more.

    What it does: Multiplies without overflow and compares with what 64-bit arithmetic can hold.
    Why is this bad: A reader that multiplies in 64 bits gets a small number and believes the shape.
    Example: "shape": [4294967296, 4294967296]
    Use instead: The shape that the tensor has.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F122", "absurd-empty-shape")
def absurd_empty_shape() -> None:
    """An empty tensor has other dimensions that no computer could hold.

    What it does: Multiplies the dimensions that are not 0 and compares with what 64-bit arithmetic can hold.
    Why is this bad: The reference implementation accepts it when the 0 comes first and refuses it when it
    comes last; code that computes strides overflows.
    Example: "shape": [0, 9223372036854775808]
    Use instead: The shape that the tensor has, or no tensor.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F123", "partial-byte")
def partial_byte() -> None:
    """A tensor of packed elements does not fill whole bytes.

    What it does: Requires that elements of 4 or 6 bits multiply to a multiple of 8 bits.
    Why is this bad: No offset can express where the tensor ends.
    Example: "dtype": "F4", "shape": [3]
    Use instead: A last dimension that is padded to whole bytes.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F124", "size-mismatch")
def size_mismatch() -> None:
    """Shape and dtype of a tensor need another number of bytes than its data_offsets span.

    What it does: Compares shape x dtype with end - begin.
    Why is this bad: The header was edited, or the writer was wrong about the dtype: what the tensor means is
    unknown.
    Example: BF16 of shape [64] with data_offsets [0, 64].
    Use instead: The file as safetensors.torch.save_file writes it.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F125", "data-hole")
def data_hole() -> None:
    """Bytes of the data section belong to no tensor.

    What it does: Requires that each tensor begins where the one before it ends, and the first at 0.
    Why is this bad: Anything can hide in a hole, and the reference implementation refuses the file.
    Example: Tensors at [0, 128] and [136, 264].
    Use instead: Tensors one after the other: write the file again.
    Sources: safetensors README, "Format".
    Since: 0.1.0
    """


@reported("F126", "data-overlap")
def data_overlap() -> None:
    """Two tensors share bytes.

    What it does: Requires that each tensor begins where the one before it ends.
    Why is this bad: A small file could claim any amount of memory, and a write to one tensor changes another.
    Tied weights are stored once in safetensors.
    Example: lm_head.weight with the data_offsets of embed_tokens.weight.
    Use instead: One of the two tensors; engines tie them by the config.
    Sources: safetensors attacks/README.md.
    Since: 0.1.0
    """


@reported("F127", "data-truncated")
def data_truncated() -> None:
    """The file ends before its last tensor does.

    What it does: Compares the size of the file with the end of the last tensor.
    Why is this bad: A download or copy was cut off. Engines that map the file may fail only when they reach
    the missing part.
    Example: 4,000,000,000 of 6,958,554,112 bytes.
    Use instead: The whole file: fetch it again and compare its sha256.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F128", "trailing-bytes")
def trailing_bytes() -> None:
    """Bytes follow the data of the last tensor.

    What it does: Compares the size of the file with the end of the last tensor.
    Why is this bad: Nothing describes them. They make room for a second file in another format, such as a zip
    archive, whose directory is at its end.
    Example: A file that was written over a longer one.
    Use instead: A file that ends with its data.
    Sources: safetensors/src/tensor.rs (Metadata::validate).
    Since: 0.1.0
    """


@reported("F130", "empty-tensor-name")
def empty_tensor_name() -> None:
    """A tensor has an empty name.

    What it does: Requires a name of at least one character.
    Why is this bad: No engine has a parameter for it, so the data is silently dropped.
    Example: "": {"dtype": "BF16", ...}
    Use instead: The name that the engine expects.
    Since: 0.1.0
    """


@reported("F131", "reserved-tensor-name")
def reserved_tensor_name() -> None:
    """A tensor has a name that the format or a reader keeps for itself.

    What it does: Refuses names that start and end with two underscores.
    Why is this bad: __metadata__ shows that the format takes such names; __proto__ changes objects of
    JavaScript readers, the hub's viewer among them.
    Example: A tensor with the name __proto__.
    Use instead: A name without the underscores.
    Since: 0.1.0
    """


@reported("F132", "no-tensors")
def no_tensors() -> None:
    """A weights file holds no tensors.

    What it does: Requires at least one tensor in each file.
    Why is this bad: Engines load it without a message and serve uninitialised weights, at an accept length of
    about 1.
    Example: A header that is {} or has __metadata__ only.
    Use instead: An export of a state dict that is not empty.
    Sources: sgl-project/sglang 0.5.14, srt/models/dflash.py, load_weights.
    Since: 0.1.0
    """


@reported("F140", "header-unaligned", severity=Severity.WARNING)
def header_unaligned() -> None:
    """The length of the header is not a multiple of 8.

    What it does: Looks at the alignment of the first data byte.
    Why is this bad: Mapped tensors are not aligned to their elements, which some readers refuse and others
    load slowly.
    Example: A header of 7,001 bytes.
    Use instead: Spaces after the last brace, as safetensors.torch.save_file writes them.
    Sources: safetensors/src/tensor.rs (prepare), which pads to 8.
    Since: 0.1.0
    """


@reported("F141", "header-out-of-proportion", severity=Severity.WARNING)
def header_out_of_proportion() -> None:
    """The header is larger than 64 KiB, 512 bytes per tensor and 1% of the file.

    What it does: Compares the length of the header with the number of tensors and the size of the file.
    Why is this bad: Padding and metadata are read by every engine on every start and looked at by nobody.
    Example: A header of 3 MB, mostly spaces, before 1 MB of data.
    Use instead: A header of about 100 bytes per tensor.
    Since: 0.1.0
    """
