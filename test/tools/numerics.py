#!/usr/bin/env python3
"""Checks the numerics contract (docs/design: gradients are the gate) on one model.

    numerics.py reference MODEL  [--layouts …]   gradients and 20 losses against PyTorch's
    numerics.py layouts MODEL [--dropout P]      gradients of layouts and schedules against one rank's
    numerics.py bits MODEL                       what may change no bit: pp, schedule, recomputation
    numerics.py masks MODEL --dropout P          masks follow sample, step and seed, and nothing else

MODEL is the stem of a file below examples/. Prints a line for each comparison and exits 1 if one fails.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tensors

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LAYOUTS = [(2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 2), (1, 4, 1), (1, 1, 4)]  # dp, pp, tp
GLOBAL_BATCH = 8
# With SHARDC_FAULT in the environment, a compiler with that fault: the checks must fail.
COMPILER = ["compiler-fault", os.environ["SHARDC_FAULT"]] if "SHARDC_FAULT" in os.environ else ["shardc"]


class Model:
    def __init__(self, stem):
        self.stem = stem
        self.path = next(p for p in (EXAMPLES / f"{stem}.onnx", EXAMPLES / "models" / f"{stem}.onnx") if p.exists())
        self.reference = EXAMPLES / "reference" / stem
        self.losses = json.loads((self.reference / "losses.json").read_text())
        self.data = EXAMPLES / self.losses["data"]
        self.is_decoder = (self.data / "input_ids.npy").exists()

    def compile_options(self):
        return [] if self.is_decoder else ["--loss", "cross_entropy"]

    def run_options(self, labels="labels"):
        first = "input_ids" if self.is_decoder else "x"
        return [f"--data={first}={self.data / first}.npy", f"--data=labels={self.data / labels}.npy", "--no-shuffle"]


class Runner:
    """Compiles and runs; every plan and result lies in a folder of its own below `work`."""

    def __init__(self, model, work, dropout):
        self.model, self.work, self.dropout = model, pathlib.Path(work), dropout
        self.runs = 0

    def run(self, layout=(1, 1, 1), steps=1, compile_options=(), run_options=(), micro_batch=1, labels="labels"):
        """Gradients of the last step (a safetensors path) and the metrics of all steps."""
        self.runs += 1
        folder = self.work / str(self.runs)
        folder.mkdir()
        dp, pp, tp = layout
        call([*COMPILER, self.model.path, f"--dp={dp}", f"--pp={pp}", f"--tp={tp}", f"--micro-batch={micro_batch}",
              f"--global-batch={GLOBAL_BATCH}", f"--dropout={self.dropout}", *self.model.compile_options(),
              *compile_options, "-o", folder / "plan"])
        call(["shardrun", folder / "plan", f"--steps={steps}", "--quiet", "--dump-gradients", folder / "gradients",
              "--log-dir", folder / "log", *self.model.run_options(labels), *run_options])
        lines = (folder / "log" / "metrics.jsonl").read_text().splitlines()
        return folder / "gradients", [json.loads(line) for line in lines]


def call(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"FAIL: {' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


class Report:
    def __init__(self):
        self.failures = self.checks = 0

    def add(self, what, faults, detail):
        self.checks += 1
        print(f"{'FAIL' if faults else 'ok'}: {what}: {detail}")
        for fault in faults[:10]:
            print(f"    {fault}")
        self.failures += bool(faults)
        sys.stdout.flush()

    def gradients(self, what, got, expected, tolerance):
        faults, worst = tensors.compare(tensors.read(got), tensors.read(expected), tolerance)
        self.add(what, faults, f"gradients off by at most {worst:.1e}" if tolerance else "bits of the gradients")

    def losses(self, what, got, expected, tolerance):
        worst = max(abs(a - b) / abs(b) for a, b in zip(got, expected))
        faults = [] if len(got) == len(expected) and worst <= tolerance else [f"expected at most {tolerance:.1e}"]
        self.add(what, faults, f"{len(got)} losses off by at most {worst:.1e}")

    def close(self):
        print(f"{self.checks} comparisons, {self.failures} failed")
        return 1 if self.failures or not self.checks else 0


# The settings of losses.json as shardc's options.
OPTIMIZERS = {
    "sgd": ["--optimizer=sgd", "--lr=0.05", "--momentum=0.9"],
    "sgd_plain": ["--optimizer=sgd", "--lr=0.1"],
    "sgd_ignored": ["--optimizer=sgd", "--lr=0.05", "--momentum=0.9"],
    "adamw": ["--optimizer=adamw", "--lr=1e-3", "--weight-decay=0.01"],
}


def check_reference(runner, report, layouts, gradients_only=False):
    model = runner.model
    for layout in layouts:
        gradients, _ = runner.run(layout)
        report.gradients(f"{model.stem} {layout} against PyTorch", gradients, model.reference / "gradients.safetensors",
                         1e-4)
        for name, options in ({} if gradients_only else OPTIMIZERS).items():
            curve = model.losses.get(name)
            if curve is None:
                continue
            labels = "labels_ignored" if name == "sgd_ignored" else "labels"
            _, metrics = runner.run(layout, len(curve["losses"]), options, labels=labels)
            # The contract: 1e-6 for SGD, ten times the fixture's own noise for AdamW.
            tolerance = 10 * curve["noise_floor"] if name == "adamw" else 1e-6
            report.losses(f"{model.stem} {layout} {name} against PyTorch", [m["loss"] for m in metrics],
                          curve["losses"], tolerance)


def check_layouts(runner, report, layouts):
    one, _ = runner.run()
    for layout in layouts:
        for schedule in ("1f1b", "gpipe"):
            gradients, _ = runner.run(layout, compile_options=[f"--schedule={schedule}"])
            report.gradients(f"{runner.model.stem} {layout} {schedule} dropout {runner.dropout} against one rank",
                             gradients, one, 1e-5)


def check_bits(runner, report, layouts):
    one, metrics = runner.run(steps=3)
    variants = [((1, pp, 1), schedule, recompute) for pp in (1, 2, 4) for schedule in ("1f1b", "gpipe")
                for recompute in ("none", "selective", "full")]
    for layout, schedule, recompute in variants:
        gradients, other = runner.run(layout, 3, [f"--schedule={schedule}", f"--recompute={recompute}"],
                                      ["--poison"])
        what = f"{runner.model.stem} {layout} {schedule} recompute {recompute}"
        report.gradients(what, gradients, one, 0)
        same = [(m["loss"], m["grad_norm"]) for m in metrics] == [(m["loss"], m["grad_norm"]) for m in other]
        report.add(what, [] if same else ["the metrics differ"], "bits of 3 losses and norms")


def check_masks(runner, report, layouts):
    """With a learning rate of 0 the loss of a batch only depends on its masks: the data set is one batch, epoch by epoch."""
    frozen = ["--optimizer=sgd", "--lr=0"]
    model = runner.model
    batch = runner.work / "batch"
    batch.mkdir()
    for path in model.data.glob("*.npy"):
        tensors.take_samples(path, batch / path.name, GLOBAL_BATCH)
    model.data = batch

    def losses(layout=(1, 1, 1), micro_batch=1, recompute="none", seed=1):
        _, metrics = runner.run(layout, 3, [*frozen, f"--recompute={recompute}"], [f"--seed={seed}"], micro_batch)
        return [m["loss"] for m in metrics]

    one = losses()
    what = f"{model.stem} dropout {runner.dropout}"
    report.add(f"{what}: masks differ from step to step", [] if len(set(one)) == 3 else [str(one)], str(one))
    report.add(f"{what}: equal seed, equal masks", [] if losses() == one else ["differ"], "3 losses")
    other = losses(seed=2)
    report.add(f"{what}: masks differ by seed", ["equal"] if set(other) & set(one) else [], str(other))
    for variant in ({"micro_batch": 2}, {"micro_batch": 8}, {"layout": (2, 1, 1)}, {"layout": (1, 1, 2), "micro_batch": 4},
                    {"layout": (2, 2, 2), "recompute": "full"}, {"layout": (1, 1, 4), "recompute": "selective"}):
        report.losses(f"{what}: {variant}", losses(**variant), one, 1e-6)


CHECKS = {"reference": check_reference, "layouts": check_layouts, "bits": check_bits, "masks": check_masks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("model")
    parser.add_argument("--layouts", help="dp,pp,tp dp,pp,tp …")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--gradients-only", action="store_true", help="reference: no losses")
    options = parser.parse_args()
    if options.layouts:
        layouts = [tuple(map(int, layout.split(","))) for layout in options.layouts.split()]
    else:
        layouts = [(1, 1, 1)] if options.check == "reference" else LAYOUTS
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(Model(options.model), work, options.dropout)
        more = {"gradients_only": True} if options.gradients_only else {}
        CHECKS[options.check](runner, report, layouts, **more)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
