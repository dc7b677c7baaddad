"""Exports the decoder of examples/export/tinygpt.py at another size, for measurements.

    python bench/export_gpt.py build/gpt.onnx --width 768 --heads 12 --layers 2 --sequence 256 --vocabulary 8192

Needs what examples/export/requirements.txt lists. The weights are PyTorch's initial ones under seed 0.
"""

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "export"))
import exporters
import tinygpt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    for name, default in [("width", 768), ("heads", 12), ("layers", 2), ("sequence", 256), ("vocabulary", 8192)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dropout", type=float, default=0.1)
    options = parser.parse_args()
    for name in ("width", "heads", "layers", "sequence", "vocabulary"):
        setattr(tinygpt, name.upper(), getattr(options, name))
    torch.manual_seed(0)
    model = tinygpt.TinyGpt(tied=True, dropout=options.dropout)
    ids = torch.randint(options.vocabulary, (2, options.sequence))
    options.path.parent.mkdir(parents=True, exist_ok=True)
    exporters.by_torchscript(model, {"input_ids": ids, "labels": ids.roll(-1, 1)}, options.path, "loss", fold=False)


if __name__ == "__main__":
    main()
