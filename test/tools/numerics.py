#!/usr/bin/env python3
"""Checks the numerics contract (docs/design: gradients are the gate) on one model.

    numerics.py reference MODEL  [--layouts …]   gradients and 20 losses against PyTorch's
    numerics.py layouts MODEL [--dropout P]      gradients of layouts and schedules against one rank's
    numerics.py bits MODEL                       what may change no bit: pp, schedule, recomputation
    numerics.py masks MODEL --dropout P          masks follow sample, step and seed, and nothing else
    numerics.py evaluation MODEL --dropout P     the loss of a data set: batches, layouts, training beside it
    numerics.py emulator MODEL                   gradients of a plan for CUDA, on the emulator, against the CPU's
    numerics.py autocast MODEL                   bf16 gradients against fp32's, by the error of PyTorch's autocast
    numerics.py spread MODEL --precision P       gradients of (2,2,2) against one rank's, within the rounding of P
    numerics.py curve MODEL --steps N            losses of bf16 and fp16 follow fp32's within 2 %
    numerics.py overflow MODEL                   fp16 recovers from a loss scale that is too large

--precision P runs a check at bf16 or fp16.
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

    def __init__(self, model, work, dropout, precision="fp32"):
        self.model, self.work, self.dropout, self.precision = model, pathlib.Path(work), dropout, precision
        self.runs = 0

    def run(self, layout=(1, 1, 1), steps=1, compile_options=(), run_options=(), micro_batch=1, labels="labels",
            precision=None, global_batch=GLOBAL_BATCH):
        """Gradients of the last step (a safetensors path) and the metrics of all steps."""
        self.runs += 1
        folder = self.work / str(self.runs)
        self.compile(folder, layout, compile_options, micro_batch, precision, global_batch)
        call(["shardrun", folder / "plan", f"--steps={steps}", "--quiet", "--dump-gradients", folder / "gradients",
              "--log-dir", folder / "log", *self.model.run_options(labels), *run_options])
        lines = (folder / "log" / "metrics.jsonl").read_text().splitlines()
        return folder / "gradients", [json.loads(line) for line in lines]

    def compile(self, folder, layout, options, micro_batch, precision=None, global_batch=GLOBAL_BATCH):
        """Options that come later win."""
        folder.mkdir()
        dp, pp, tp = layout
        given = [f"--dp={dp}", f"--pp={pp}", f"--tp={tp}", f"--micro-batch={micro_batch}",
                 f"--global-batch={global_batch}", f"--dropout={self.dropout}", *self.model.compile_options(),
                 f"--precision={precision or self.precision}", *options]
        call([*COMPILER, self.model.path, *{option.split("=")[0]: option for option in given}.values(),
              "-o", folder / "plan"])


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


def check_emulator(runner, report, layouts):
    """The seed of the run is that of the order of threads, too, and of the masks: alike on both. A second step has the
    gradients of what the first one made of the parameters; AdamW, whose first step is a sign, would magnify rounding."""
    for layout in layouts:
        for seed, steps, optimizer in ((1, 1, "adamw"), (2, 2, "sgd")):
            expected, _ = runner.run(layout, steps, OPTIMIZERS[optimizer], [f"--seed={seed}"])
            got, _ = runner.run(layout, steps, [*OPTIMIZERS[optimizer], "--target=cuda"],
                                ["--device=emulator", f"--seed={seed}"])
            report.gradients(f"{runner.model.stem} {layout} {optimizer} step {steps} on the emulator", got, expected, 1e-5)


SAMPLES = 160  # of the reference data


def check_evaluation(runner, report, layouts):
    """Dropout is compiled in, and off in an evaluation. 48 does not divide the 160 samples, 1f1b and gpipe have other slots."""
    model = runner.model
    whole = model.run_options()[:2]

    def evaluate(layout=(1, 1, 1), global_batch=GLOBAL_BATCH, micro_batch=1, options=(), data=whole):
        runner.runs += 1
        folder = runner.work / str(runner.runs)
        runner.compile(folder, layout, options, micro_batch, global_batch=global_batch)
        call(["shardrun", folder / "plan", "--eval-only", "--quiet", "--poison", "--log-dir", folder / "log",
              *[option.replace("--data", "--eval-data") for option in data]])
        line = json.loads((folder / "log" / "metrics.jsonl").read_text())
        return line["eval_loss"], line["eval_samples"]

    what = f"{model.stem} dropout {runner.dropout}"
    one, samples = evaluate()
    report.add(f"{what}: all samples", [] if samples == SAMPLES else [f"expected {SAMPLES}"], f"{samples} samples")
    _, metrics = runner.run(compile_options=["--dropout=0"], micro_batch=8, global_batch=SAMPLES)
    report.losses(f"{what}: loss of the first step without dropout, all samples its batch", [metrics[0]["loss"]], [one],
                  1e-6)
    for layout in layouts:
        for schedule in ("1f1b", "gpipe"):
            loss, _ = evaluate(layout, options=[f"--schedule={schedule}"])
            same_tp = layout[0] == layout[2] == 1
            report.losses(f"{what}: {layout} {schedule} against one rank", [loss], [one], 0 if same_tp else 1e-6)
    for layout, global_batch, micro_batch in (((1, 1, 1), 48, 4), ((2, 2, 2), 48, 4), ((1, 4, 1), 512, 8)):
        loss, samples = evaluate(layout, global_batch, micro_batch)
        faults = [] if samples == SAMPLES else [f"{samples} samples"]
        report.add(f"{what}: batches of {global_batch}", faults, f"{samples} samples")
        report.losses(f"{what}: {layout} batches of {global_batch}", [loss], [one], 1e-6)
    for layout in ((1, 1, 1), (2, 2, 2)):
        plain, metrics = runner.run(layout, 4, run_options=["--poison"])
        beside, other = runner.run(layout, 4, run_options=["--poison", "--eval-every=2", *[
            option.replace("--data", "--eval-data") for option in whole]])
        report.gradients(f"{what}: {layout} with evaluations between steps", beside, plain, 0)
        losses = [[(m["loss"], m["grad_norm"]) for m in run] for run in (metrics, other)]
        evaluated = [m["step"] for m in other if "eval_loss" in m]
        falls = evaluated == [2, 4] and other[3]["eval_loss"] < other[1]["eval_loss"] < one
        report.add(f"{what}: {layout} training with evaluations", ([] if losses[0] == losses[1] else ["the losses differ"]) +
                   ([] if falls else ["the loss does not fall"]), f"evaluated after steps {evaluated}")


# Half a unit in the last place, relative.
ROUNDING = {"bf16": 2.0**-9, "fp16": 2.0**-12}


def check_autocast(runner, report, layouts):
    """Twice the error of PyTorch's autocast is what a gradient may have; the reference says on which batch. fp16 has three
    more places, so that the errors of smooth models are 8 times smaller."""
    model, precision = runner.model, "bf16" if runner.precision == "fp32" else runner.precision
    reference = json.loads((model.reference / "autocast_bf16.json").read_text())
    batch = {"global_batch": reference["samples"], "micro_batch": max(1, reference["samples"] // GLOBAL_BATCH)}
    exact = tensors.read(runner.run(**batch, precision="fp32")[0])
    for layout in layouts:
        got = tensors.read(runner.run(layout, **{**batch, "micro_batch": 1}, precision=precision)[0])
        errors = tensors.relative_errors(got, exact)
        allowed = {name: error * ROUNDING[precision] / ROUNDING["bf16"] for name, error in reference["errors"].items()}
        faults = [f"{name}: error {error:.2e}, autocast's {allowed.get(name, 0):.2e}" for name, error in errors.items()
                  if not error <= 2 * allowed.get(name, 0)]
        faults += [f"{name}: no gradient" for name in allowed if name not in errors]
        worst = max(error / allowed[name] for name, error in errors.items() if name in allowed)
        report.add(f"{model.stem} {layout} {precision} against fp32", faults,
                   f"{worst:.2f} times the error of autocast" + (" / 8" if precision == "fp16" else ""))


def check_spread(runner, report, layouts):
    """tp = 2 rounds each half of a row-parallel product and their sum, where one rank rounds the product: two roundings
    more in two products of each layer and direction, 4 · 2 · layers = 32 for 4 layers, and as many again where a
    rounded value that differs is rounded on. Independent errors add up as roots: sqrt(64) of the largest size."""
    tolerance = 8 * ROUNDING[runner.precision]
    one = tensors.read(runner.run()[0])
    for layout in layouts:
        errors = tensors.relative_errors(tensors.read(runner.run(layout)[0]), one)
        faults = [f"{name}: off by {error:.2e}" for name, error in errors.items() if not error <= tolerance]
        report.add(f"{runner.model.stem} {layout} {runner.precision} against one rank", faults,
                   f"relative L2 difference {max(errors.values()):.1e}, allowed {tolerance:.1e}")


def check_curve(runner, report, layouts, steps):
    options = OPTIMIZERS["adamw"]
    losses = {precision: [m["loss"] for m in runner.run((1, 1, 1), steps, options, precision=precision)[1]]
              for precision in ("fp32", "bf16", "fp16")}
    for precision in ("bf16", "fp16"):
        report.losses(f"{runner.model.stem} {precision} against fp32", losses[precision], losses["fp32"], 0.02)
    falls = losses["fp32"][-1] < 0.8 * losses["fp32"][0]
    report.add(f"{runner.model.stem}: there is something to follow", [] if falls else ["the loss does not fall"],
               f"loss {losses['fp32'][0]:.3f} to {losses['fp32'][-1]:.3f}")


def check_overflow(runner, report, layouts):
    """The scale begins where gradients overflow, and grows again after 4 good steps."""
    options = ["--loss-scale-init=16777216", "--loss-scale-growth-interval=4"]
    for layout in layouts:
        _, metrics = runner.run(layout, 30, options, precision="fp16")
        scale, good, faults, history = 16777216.0, 0, [], []
        for line in metrics:
            history.append(f"{line['loss_scale']:g}{' skipped' if line['skipped'] else ''}")
            if line["loss_scale"] != scale:
                faults.append(f"step {line['step']}: loss scale {line['loss_scale']}, expected {scale}")
                break
            if line["loss"] is None:
                faults.append(f"step {line['step']}: the loss is not finite")
            good = 0 if line["skipped"] else good + 1
            scale = scale / 2 if line["skipped"] else min(scale * 2, 16777216.0) if good == 4 else scale
            good = 0 if good == 4 else good
        skipped = [line["skipped"] for line in metrics]
        if not skipped[0] or all(skipped):
            faults.append("expected an overflow at first, and recovery")
        if not metrics[-1]["loss"] < metrics[0]["loss"]:
            faults.append("the loss does not fall")
        report.add(f"{runner.model.stem} {layout} fp16 recovers", faults, ", ".join(history))


CHECKS = {"autocast": check_autocast, "spread": check_spread, "curve": check_curve, "overflow": check_overflow,
          "reference": check_reference, "layouts": check_layouts, "bits": check_bits, "masks": check_masks,
          "evaluation": check_evaluation, "emulator": check_emulator}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("model")
    parser.add_argument("--layouts", help="dp,pp,tp dp,pp,tp …")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    parser.add_argument("--steps", type=int, default=200, help="curve: steps")
    parser.add_argument("--gradients-only", action="store_true", help="reference: no losses")
    options = parser.parse_args()
    if options.layouts:
        layouts = [tuple(map(int, layout.split(","))) for layout in options.layouts.split()]
    else:
        layouts = {"reference": [(1, 1, 1)], "spread": [(2, 2, 2)], "autocast": [(1, 1, 1), (2, 2, 2)], "emulator": [(1, 1, 1), (2, 2, 2)],
                   "overflow": [(1, 1, 1), (2, 2, 2)]}.get(options.check, LAYOUTS)
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        runner = Runner(Model(options.model), work, options.dropout, options.precision)
        more = {"gradients_only": True} if options.gradients_only else {}
        more.update({"steps": options.steps} if options.check == "curve" else {})
        CHECKS[options.check](runner, report, layouts, **more)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
