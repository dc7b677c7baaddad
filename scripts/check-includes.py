#!/usr/bin/env python3
"""Checks that the house's arrows run one way: which part may include which.

A part is a folder; a file may include headers of its own part and of the parts listed for it. Prints one line an arrow
that runs back, and exits 1 if there is any.
"""

import pathlib
import re
import sys

DIALECTS = {"dist": set(), "nn": {"dist"}, "exec": {"nn", "dist"}}
STAGES = ["Import", "Autodiff", "Sharding", "Pipeline", "Codegen", "Memory"]
RUNTIME = {
    "base": set(),
    "format": {"base"},
    "verify": {"base", "format"},
    "device": {"base", "format"},
    "comm": {"base", "format"},
    "io": {"base", "format"},
    "metrics": {"base", "format"},
    "executor": {"base", "format", "device", "comm", "io", "metrics"},
    "capi": {"base", "format", "verify", "device", "comm", "io", "metrics", "executor"},
}

ALLOWED = {f"dialects/{name}": {f"dialects/{other}" for other in others} for name, others in DIALECTS.items()}
every_dialect = {f"dialects/{name}" for name in DIALECTS}
# The control block is the ABI of kernels, which the code generator shares with the runtime.
ALLOWED |= {f"lib/{stage}": every_dialect | {"runtime/include"} for stage in STAGES}
ALLOWED["lib/Plan"] = every_dialect | {"runtime/format", "runtime/base"}
ALLOWED["lib/Driver"] = None  # everything
ALLOWED |= {
    f"runtime/{name}": {f"runtime/{other}" for other in others} | {"runtime/include"}
    for name, others in RUNTIME.items()
}
ALLOWED["runtime/include"] = set()

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def get_part(path):
    """The part that a path (relative to the root, or as included) belongs to; None for foreign headers."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "include":
        parts = parts[1:]
    if parts[0] == "shardc" and len(parts) > 2:
        return f"lib/{parts[1]}"
    if parts[0] == "shardrt":
        return "runtime/include"
    if parts[0] in ("lib", "dialects", "runtime") and len(parts) > 2:
        return f"{parts[0]}/{parts[1]}"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    faults = checked = 0
    for folder in ("dialects", "include", "lib", "runtime"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            checked += 1
            name = path.relative_to(root).as_posix()
            part = get_part(name)
            if part is None:
                continue
            if part not in ALLOWED:
                print(f"error: file '{name}': part '{part}' is not listed in scripts/check-includes.py")
                faults += 1
                continue
            for included in INCLUDE.findall(path.read_text()):
                other = get_part(included)
                if other is None or other == part or ALLOWED[part] is None or other in ALLOWED[part]:
                    continue
                print(f"error: file '{name}': includes '{included}', but {part} may not use {other}")
                faults += 1
    print(f"{checked} files, {faults} arrows that run back")
    return 1 if faults or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
