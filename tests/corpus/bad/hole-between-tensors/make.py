from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, load, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    header, data = load(folder / WEIGHTS)
    last = max(
        (entry for name, entry in header.items() if name != "__metadata__"),
        key=lambda entry: entry["data_offsets"],
    )
    begin, end = last["data_offsets"]
    last["data_offsets"] = [begin + 8, end + 8]
    write_raw(folder / WEIGHTS, header, data[:begin] + bytes(8) + data[begin:])
