#!/usr/bin/env python3
"""Checks docs/errors.md against the code: every label of an error stands there once, and no label that no code has; and
that every label of the runtime and the tools has a test that names it.

In code a label is `[some-label]` inside a string, or a string of its own that is handed to whatever writes the error; the
latter are known by their family. In docs/errors.md it stands in the first column of a table.
"""

import collections
import pathlib
import re
import sys

FAMILIES = ["data", "external", "file", "graph", "kernel", "option", "output", "plan", "run", "shape", "shard", "stage",
            "target", "tensor", "training"]
FOLDERS = ["dialects", "lib", "runtime", "tools"]
TESTED = ("runtime/", "tools/")
IN_TEXT = re.compile(r"\[([a-z]+-[a-z0-9]+)\]")
ALONE = re.compile(rf'"((?:{"|".join(FAMILIES)})-[a-z0-9]+)"')
IN_TABLE = re.compile(r"\b[a-z]+-[a-z0-9]+\b")


def find_labels(root):
    """Each label of the code, with the first place that has it."""
    places = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                line = re.sub(r"^\s*//.*", "", line)
                for label in IN_TEXT.findall(line) + ALONE.findall(line):
                    places.setdefault(label, f"{path.relative_to(root).as_posix()}:{number}")
    return places


def count_documented(text):
    """How often each label stands in the first column of a table."""
    counts = collections.Counter()
    for line in text.splitlines():
        if line.startswith("|"):
            counts.update(IN_TABLE.findall(line.split("|")[1]))
    return counts


def find_tested(root, labels):
    """The labels that stand anywhere in the tests."""
    texts = [path.read_text(errors="replace") for path in (root / "test").rglob("*")
             if path.suffix in (".cpp", ".h", ".mlir", ".py", ".test") and "Output" not in path.parts]
    return {label for label in labels if any(re.search(rf"\b{label}\b", text) for text in texts)}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    places = find_labels(root)
    documented = count_documented((root / "docs/errors.md").read_text())
    faults = [f"error: label '{label}': not in docs/errors.md, but in {place}"
              for label, place in sorted(places.items()) if label not in documented]
    faults += [f"error: label '{label}': in docs/errors.md, but no code has it"
               for label in sorted(documented) if label not in places]
    faults += [f"error: label '{label}': expected once in docs/errors.md, got {count} times"
               for label, count in sorted(documented.items()) if count > 1]
    tested = find_tested(root, places)
    faults += [f"error: label '{label}': no test names it, it is in {place}"
               for label, place in sorted(places.items()) if place.startswith(TESTED) and label not in tested]
    for fault in faults:
        print(fault)
    print(f"{len(places)} labels, {len(faults)} faults")
    return 1 if faults or not places else 0


if __name__ == "__main__":
    sys.exit(main())
