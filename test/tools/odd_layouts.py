#!/usr/bin/env python3
"""Gradients of layouts of any model against one rank's, on synthetic data.

    odd_layouts.py MODEL.onnx GLOBAL_BATCH [--dropout P] DP,PP,TP[,OPTION…] …

OPTION is one of shardc's, without the dashes: 2,2,1,schedule=gpipe,recompute=full,micro-batch=3. Prints a line for each layout
and exits 1 if one differs by more than 1e-5.
"""

import pathlib
import sys
import tempfile

import numerics


class Model:
    def __init__(self, path):
        self.path, self.stem = path, pathlib.Path(path).stem

    def compile_options(self):
        return []

    def run_options(self, labels):
        return ["--synthetic"]


def main():
    path, batch, *layouts = sys.argv[1:]
    dropout = "0"
    if layouts[0] == "--dropout":
        _, dropout, *layouts = layouts
    report = numerics.Report()
    with tempfile.TemporaryDirectory() as work:
        runner = numerics.Runner(Model(path), work, dropout)
        one, _ = runner.run(global_batch=int(batch))
        for layout in layouts:
            *sizes, options = layout.split(",", 3) if layout.count(",") > 2 else [*layout.split(","), ""]
            options = [f"--{option}" for option in options.split(",") if option]
            gradients, _ = runner.run(tuple(map(int, sizes)), compile_options=options, global_batch=int(batch))
            report.gradients(f"{runner.model.stem} {layout} against one rank", gradients, one, 1e-5)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
