"""Writes `samples` rows of four floats and their class labels, of which those from `ignored` on have the value -100.

usage: evaluation_arrays.py FOLDER SAMPLES [IGNORED]
"""

import pathlib
import struct
import sys


def save(path, kind, shape, data):
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


folder, samples = pathlib.Path(sys.argv[1]), int(sys.argv[2])
ignored = int(sys.argv[3]) if len(sys.argv) > 3 else samples
folder.mkdir(parents=True, exist_ok=True)
save(folder / "x.npy", "<f4", (samples, 4), b"".join(struct.pack("<4f", i, -i, 1, i % 3) for i in range(samples)))
labels = [i % 3 if i < ignored else -100 for i in range(samples)]
save(folder / "labels.npy", "<i8", (samples,), b"".join(struct.pack("<q", label) for label in labels))
