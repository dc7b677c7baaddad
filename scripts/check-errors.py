#!/usr/bin/env python3
"""Checks the labels of errors: each stands in docs/errors.md once and in no other case, a test names it, and for those of
shardc lib/Driver/Remedies.cpp has a remedy.

In code a label is `[some-label]` inside a string, or a string of its own that is handed to whatever writes the error; the
latter are known by their family. In docs/errors.md it stands in the first column of a table. The verifier's (plan-…) are
found in plans, not in models: their notes are its own.
"""

import collections
import pathlib
import re
import sys

FAMILIES = ["data", "external", "file", "graph", "kernel", "option", "output", "plan", "run", "shape", "shard", "stage",
            "target", "tensor", "training"]
COMPILER = ["dialects", "lib"]
FOLDERS = [*COMPILER, "runtime", "tools"]
REMEDIES = "lib/Driver/Remedies.cpp"
TESTS = (".cpp", ".h", ".mlir", ".py", ".test")
# What no model is known to reach; each with the reason why the code has it.
UNTESTED = {"shard-4": "a split parameter whose gradient's product splits nowhere: sub-dimensions of both are the same"}
IN_TEXT = re.compile(r"\[([a-z]+-[a-z0-9]+)\]")
ALONE = re.compile(rf'"((?:{"|".join(FAMILIES)})-[a-z0-9]+)"')
IN_TABLE = re.compile(r"\b[a-z]+-[a-z0-9]+\b")


def find_labels(root, folders=FOLDERS):
    """Each label of the code, with the first place that has it."""
    places = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".cpp", ".h") or name == REMEDIES:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                line = re.sub(r"^\s*//.*", "", line)
                for label in IN_TEXT.findall(line) + ALONE.findall(line):
                    places.setdefault(label, f"{name}:{number}")
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
             if path.suffix in TESTS and "Output" not in path.relative_to(root).parts]
    return {label for label in labels if any(re.search(rf"\b{label}\b", text) for text in texts)}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    places = find_labels(root)
    documented = count_documented((root / "docs/errors.md").read_text())
    remedies, tested = collections.Counter(ALONE.findall((root / REMEDIES).read_text())), find_tested(root, places)
    faults = [f"error: label '{label}': not in docs/errors.md, but in {place}"
              for label, place in sorted(places.items()) if label not in documented]
    faults += [f"error: label '{label}': in docs/errors.md, but no code has it"
               for label in sorted(documented) if label not in places]
    faults += [f"error: label '{label}': expected once in docs/errors.md, got {count} times"
               for label, count in sorted(documented.items()) if count > 1]
    faults += [f"error: label '{label}': no remedy in {REMEDIES}, but in {place}"
                for label, place in sorted(find_labels(root, COMPILER).items())
               if label not in remedies and not label.startswith("plan-")]
    faults += [f"error: label '{label}': in {REMEDIES} {'twice' if label in places else 'but nowhere else'}"
               for label, count in sorted(remedies.items()) if count > 1 or label not in places]
    faults += [f"error: label '{label}': no test names it, but it is in {place}"
               for label, place in sorted(places.items()) if label not in tested and label not in UNTESTED]
    for fault in faults:
        print(fault)
    print(f"{len(places)} labels, {len(faults)} faults")
    return 1 if faults or not places else 0


if __name__ == "__main__":
    sys.exit(main())
