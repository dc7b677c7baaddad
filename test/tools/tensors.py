"""Reads safetensors files with Python's own library, and compares what they hold.

    tensors.py GOT EXPECTED TOLERANCE      exits 1 if a tensor is off by more than TOLERANCE of its maximum (0: equal bits)
"""

import array
import ast
import json
import math
import struct
import sys

CODES = {"F32": "f", "F64": "d", "I64": "q", "I32": "i"}


def read(path):
    """{name: (shape, values)} of a safetensors file; format: 8 bytes of header length, a JSON header, the data."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = array.array(CODES[entry["dtype"]])
        values.frombytes(data[8 + length + begin : 8 + length + end])
        tensors[name] = (tuple(entry["shape"]), values)
    return tensors


def take_samples(path, output, count):
    """Writes the first `count` samples of a .npy file (format 1.0) to another."""
    data = path.read_bytes()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + length].decode())
    samples, *rest = header["shape"]
    size = (len(data) - 10 - length) // samples * count
    header["shape"] = (count, *rest)
    text = repr(header).ljust(length - 1) + "\n"
    output.write_bytes(data[:8] + struct.pack("<H", len(text)) + text.encode() + data[10 + length : 10 + length + size])


def compare(got, expected, tolerance):
    """The faults of `got` against `expected`, as lines: other names or shapes, or |difference| > tolerance * max |expected|.

    A tolerance of 0 demands equal bits. Returns (faults, largest relative difference)."""
    faults = [f"missing: {name}" for name in expected if name not in got]
    faults += [f"unexpected: {name}" for name in got if name not in expected]
    worst = 0.0
    for name in sorted(set(got) & set(expected)):
        (got_shape, got_values), (shape, values) = got[name], expected[name]
        if got_shape != shape:
            faults.append(f"{name}: shape {got_shape}, expected {shape}")
            continue
        if tolerance == 0:
            if got_values.tobytes() != values.tobytes():
                faults.append(f"{name}: bits differ")
            continue
        scale = max(map(abs, values), default=0.0)
        difference = max((abs(a - b) for a, b in zip(got_values, values)), default=0.0)
        if any(a != a for a in got_values):
            difference = float("inf")
        relative = difference / scale if scale > 0 else (0.0 if difference == 0 else float("inf"))
        worst = max(worst, relative)
        if not relative <= tolerance:
            faults.append(f"{name}: off by {relative:.2e} of its maximum, expected at most {tolerance:.0e}")
    return faults, worst


def relative_errors(got, expected):
    """{name: L2 norm of the difference over that of the expected tensor}; infinite where names or shapes differ, or for NaN."""
    errors = {name: float("inf") for name in set(got) ^ set(expected)}
    for name in sorted(set(got) & set(expected)):
        (got_shape, got_values), (shape, values) = got[name], expected[name]
        difference = math.sqrt(sum((a - b) ** 2 for a, b in zip(got_values, values)))
        norm = math.sqrt(sum(b * b for b in values))
        error = difference / norm if norm > 0 else (0.0 if difference == 0 else float("inf"))
        errors[name] = error if got_shape == shape and error == error else float("inf")
    return errors


def main(got, expected, tolerance):
    expected = read(expected)
    faults, _ = compare(read(got), expected, float(tolerance))
    print("\n".join(faults + [f"{len(faults)} of {len(expected)} tensors differ"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
