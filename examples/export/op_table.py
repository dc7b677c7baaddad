"""The table of operators by model, in Markdown."""

from collections import Counter
from pathlib import Path

import onnx


def _histogram(path: Path) -> tuple[str, Counter]:
    """A heading and the operator counts of a file; nodes of functions are counted once, where defined."""
    model = onnx.load(path, load_external_data=False)
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    return f"{path.stem} ({opset})", Counter(
        f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes
    )


def write(paths: list[Path], target: Path) -> None:
    """Writes the table of all `paths` to `target` and prints it."""
    columns = dict(_histogram(path) for path in paths)
    names = sorted(set().union(*columns.values()))
    rows = ["| op | " + " | ".join(columns) + " |", "|-" * (len(columns) + 1) + "|"]
    for name in names:
        counts = " | ".join(str(counter[name] or "") for counter in columns.values())
        rows.append(f"| {name} | {counts} |")
    text = (
        "# Operators by model\n\nThe opset in parentheses; a `_perturbed` file has the ops of its model. "
        "Made by `examples/export/make.py`.\n\n" + "\n".join(rows) + "\n"
    )
    target.write_text(text)
    print(text)
