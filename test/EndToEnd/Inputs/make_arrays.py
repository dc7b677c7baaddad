"""Writes small .npy files for tinygpt's inputs into a folder: ids, labels that are all ignored, too few, out of range; and,
for batches of two samples, 24 samples whose labels are ignored but for the last batch, or in the second batch alone.
"""

import pathlib
import struct
import sys

SEQUENCE = 64


def save(path, *values):
    """int64, a sample for each of `values` that has no other elements, format 1.0."""
    header = repr({"descr": "<i8", "fortran_order": False, "shape": (len(values), SEQUENCE)}).ljust(117) + "\n"
    data = b"".join(struct.pack("<q", value) * SEQUENCE for value in values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


folder = pathlib.Path(sys.argv[1])
IGNORED = -100
save(folder / "ids.npy", *[0] * 4)
save(folder / "ignored.npy", *[IGNORED] * 4)
save(folder / "ids32.npy", *range(32))
save(folder / "few.npy", *[0] * 3)
save(folder / "wild.npy", *[256] * 4)
save(folder / "many.npy", *[0] * 24)
save(folder / "late.npy", *[IGNORED] * 22, 0, 0)
save(folder / "sparse.npy", 0, 0, IGNORED, IGNORED, *[0] * 20)
(folder / "ids.npz").write_bytes(b"PK\x03\x04")
