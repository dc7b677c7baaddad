"""Writes small .npy files for tinygpt's inputs into a folder: ids, labels that are all ignored, too few, out of range."""

import pathlib
import struct
import sys

SEQUENCE = 64


def save(path, samples, value):
    """int64, all elements `value`, format 1.0."""
    header = repr({"descr": "<i8", "fortran_order": False, "shape": (samples, SEQUENCE)}).ljust(117) + "\n"
    data = struct.pack("<q", value) * (samples * SEQUENCE)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


folder = pathlib.Path(sys.argv[1])
save(folder / "ids.npy", 4, 0)
save(folder / "ignored.npy", 4, -100)
save(folder / "few.npy", 3, 0)
save(folder / "wild.npy", 4, 256)
