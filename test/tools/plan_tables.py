#!/usr/bin/env python3
"""Compares what `shardplan show --json` counts in plans of the example decoders with formulas.

    plan_tables.py communication    collectives of tensor and data parallelism (docs/sharding.md)
    plan_tables.py precision        what bf16 and fp16 halve, and what they leave (docs/precision.md)
    plan_tables.py stash            what stages keep, tensor by tensor (docs/pipeline.md; Korthikanti et al. 2022, section 4)

Prints a line for each comparison and exits 1 if one fails.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LAYERS, HEADS, WIDTH, SEQUENCE, VOCABULARY = 4, 4, 64, 64, 256


class Checker:
    def __init__(self, work):
        self.work = work
        self.checks = self.failures = self.plans = 0

    def show(self, *options, model="tinygpt.onnx"):
        self.plans += 1
        plan = f"{self.work}/plan{self.plans}"
        run("shardc", EXAMPLES / model, *options, "-o", plan)
        return json.loads(run("shardplan", "show", plan, "--json"))

    def equal(self, what, got, expected):
        self.checks += 1
        self.failures += got != expected
        print(f"{'ok' if got == expected else 'FAIL'}: {what}: {got}" + ("" if got == expected else f", expected {expected}"))

    def close(self):
        print(f"{self.checks} comparisons, {self.failures} failed")
        return 1 if self.failures or not self.checks else 0


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"FAIL: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def find_layer(node):
    found = re.search(r"h\.(\d+)/", node)
    return int(found.group(1)) if found else None


def entries(plan, **wanted):
    """The lines of communication of all programs whose fields are as wanted."""
    return [line for program in plan["programs"] for line in program["communication"]
            if all(line[key] == value for key, value in wanted.items())]


def count_per_micro_batch(lines, micro_batches):
    return sum(line["runs"] for line in lines) / micro_batches


def check_layers(checker, t, recompute, extra):
    """Two all-reduces of b·s·h in each layer's forward and in its backward; `extra` more when it is recomputed."""
    b, micro_batches = 3, 4
    plan = checker.show("--tp", t, "--micro-batch", b, "--global-batch", b * micro_batches, "--recompute", recompute)
    n = b * SEQUENCE * WIDTH
    for layer in range(LAYERS):
        lines = [line for line in entries(plan, axes=["tp"]) if find_layer(line["node"]) == layer]
        what = f"tp {t} recompute {recompute} layer {layer}"
        checker.equal(f"{what}: kinds and sizes", sorted({(x["kind"], x["elements"]) for x in lines}), [("all_reduce", n)])
        counts = {direction: count_per_micro_batch([x for x in lines if x["direction"] == direction], micro_batches)
                  for direction in ("forward", "backward", "recomputation")}
        checker.equal(f"{what}: all-reduces", counts, {"forward": 2, "backward": 2, "recomputation": extra})
        sent = sum(x["sent_elements"] * x["runs"] for x in lines if x["direction"] != "recomputation") / micro_batches
        checker.equal(f"{what}: elements sent", sent, 8 * n * (t - 1) / t)
    return plan


def check_outside_layers(checker, plan, t):
    """Embedding, head and vocabulary loss, each against its formula."""
    b, micro_batches = 3, 4
    n, rows = b * SEQUENCE * WIDTH, b * SEQUENCE
    for category, expected in (("embedding", 2 * n), ("head and loss", 2 * n + 3 * 2 * rows)):
        lines = entries(plan, category=category)
        sent = sum(line["sent_elements"] * line["runs"] for line in lines) / micro_batches
        checker.equal(f"tp {t} {category}: elements sent", sent, expected * (t - 1) / t)


def check_vocabulary(checker, plan, t):
    """With tp > 1 no buffer has the whole vocabulary axis (3 · 64 rows and 256 / t units are other sizes)."""
    whole = [buffer["name"] for program in plan["programs"] for buffer in program["buffers"]
             if VOCABULARY in buffer["shape"]]
    checker.equal(f"tp {t}: buffers with the whole vocabulary", whole, [])


def check_step(checker):
    """Once a step: gradients over dp, tied gradients over stages, the norm over all."""
    d, t = 2, 2
    plan = checker.show("--dp", d, "--tp", t, "--pp", 2, "--micro-batch", 2, "--global-batch", 16)
    for program in plan["programs"]:
        gradients = program["memory"]["regions"]["gradient"]["elements"] - (2 if program["pp"] == 1 else 0)
        sent = sum(line["step_sent_elements"] for line in program["communication"] if line["category"] == "gradients")
        checker.equal(f"pp {program['pp']} gradients over dp: elements sent", sent, 2 * gradients * (d - 1) / d)
        tied = [line for line in program["communication"] if line["category"] == "tied gradients"]
        checker.equal(f"pp {program['pp']} tied gradients: elements sent", sum(x["step_sent_elements"] for x in tied),
                      VOCABULARY * WIDTH / t)
        norm = [line for line in program["communication"] if line["category"] == "norm exchange"]
        checker.equal(f"pp {program['pp']} world exchanges", sum(x["runs"] for x in norm), 1)


def check_communication(checker):
    for t in (2, 4):
        for recompute, extra in (("none", 0), ("selective", 0)):
            plan = check_layers(checker, t, recompute, extra)
        check_outside_layers(checker, plan, t)
        check_vocabulary(checker, plan, t)
    # Full recomputation adds at most two; the second one's result is the next layer's input, which is kept.
    check_layers(checker, 2, "full", 1)
    check_step(checker)


def name_tensors(program):
    """The stash of a program by layer: {layer: {(shape without batch): count}}."""
    layers = collections.defaultdict(collections.Counter)
    for tensor in program["memory"]["stash"]["tensors"]:
        layer = find_layer(tensor["name"])
        if layer is not None:
            layers[layer][tuple(tensor["shape"][1:])] += 1
    return layers


# Section 4 of the paper counts, in elements of values (its bytes are of two-byte values; masks are one byte each):
#   attention   input of QKV sbh · Q, K 2sbh · softmax as²b · V sbh and dropped-out probabilities as²b · input of the
#               projection sbh [masks: as²b, sbh]
#   MLP         input sbh · GELU's input 4sbh · input of the second product 4sbh [mask: sbh]
#   norms       inputs 2sbh
# We keep no masks (they are generated again), neither the dropped-out probabilities nor GELU's output (both are computed
# again inside the kernels of the backward), and beside the paper each norm's mean and 1/σ (2bs).
S, H, A = SEQUENCE, WIDTH, HEADS
NONE = collections.Counter({(S, H): 4, (S, 3 * H): 1, (A, S, S): 1, (A, S, H // A): 1, (S, 4 * H): 1, (S,): 4})
NAMED = {
    "inputs of both norms, their results (inputs of QKV and MLP)": (S, H),
    "Q, K, V as one": (S, 3 * H),
    "softmax": (A, S, S),
    "input of the projection": (A, S, H // A),
    "GELU's input": (S, 4 * H),
    "mean and 1/σ of both norms": (S,),
}
SELECTIVE = NONE - collections.Counter({(A, S, S): 1})


def check_stash(checker):
    options = ["--micro-batch", 2, "--global-batch", 16]
    for recompute, expected in (("none", NONE), ("selective", SELECTIVE)):
        program = checker.show(*options, "--recompute", recompute)["programs"][0]
        layers = name_tensors(program)
        # The first layer's input is the embedding's, which bears another name; the last one's output is the head's.
        for layer in (1, 2):
            for what, shape in NAMED.items():
                checker.equal(f"recompute {recompute} layer {layer}: {what}", layers[layer][shape], expected[shape])
            checker.equal(f"recompute {recompute} layer {layer}: tensors", sum(layers[layer].values()), sum(expected.values()))
        elements = sum(t["elements"] for t in program["memory"]["stash"]["tensors"] if find_layer(t["name"]) == 1)
        b = 2
        formula = 12 * S * b * H + 4 * b * S + (A * S * S * b if recompute == "none" else 0)
        checker.equal(f"recompute {recompute}: elements of a layer, 12sbh + as²b + 4bs", elements, formula)
    program = checker.show(*options, "--recompute", "full")["programs"][0]
    layers = name_tensors(program)
    for layer in range(LAYERS):
        # What a layer keeps is its input, the result of the layer before.
        kept = dict(layers[layer])
        checker.equal(f"recompute full layer {layer}: kept", kept, {(S, H): 1} if layer < LAYERS - 1 else kept)
    check_slots(checker)


def check_slots(checker):
    """In flight: min(pp − p, m) under 1F1B, all m under GPipe; the arena holds that many copies of the stash."""
    for pp in (2, 4):
        for micro_batches in (1, 2, 4, 8):
            for schedule in ("1f1b", "gpipe"):
                plan = checker.show("--pp", pp, "--micro-batch", 1, "--global-batch", micro_batches, "--schedule", schedule)
                slots = [program["memory"]["stash"]["slots"] for program in plan["programs"]]
                expected = [micro_batches if schedule == "gpipe" else min(pp - p, micro_batches) for p in range(pp)]
                checker.equal(f"pp {pp} {schedule} {micro_batches} micro-batches: slots", slots, expected)
                copies = [sum(t["elements"] * t["slots"] for t in p["memory"]["stash"]["tensors"]) for p in plan["programs"]]
                whole = [s * p["memory"]["stash"]["elements"] for s, p in zip(slots, plan["programs"])]
                checker.equal(f"pp {pp} {schedule} {micro_batches} micro-batches: elements", copies, whole)


def sum_bytes(plan, regions, activations):
    """Bytes of the floating values of some regions: activations (rank 3 and more), or what else there is."""
    return sum(buffer["bytes"] for program in plan["programs"] for buffer in program["buffers"]
               if buffer["region"] in regions and buffer["type"] in ("f32", "bf16", "f16", "f64")
               and (len(buffer["shape"]) >= 3) == activations)


def check_precision(checker):
    """Messages, the stash and collectives over tp halve; parameters, gradients, states and statistics do not."""
    for recompute in ("none", "selective", "full"):
        options = ["--pp", 2, "--tp", 2, "--dp", 2, "--micro-batch", 2, "--recompute", recompute]
        whole = checker.show(*options)
        for precision in ("bf16", "fp16"):
            plan, what = checker.show(*options, "--precision", precision), f"{precision} recompute {recompute}"
            for region in ("message", "stash"):
                checker.equal(f"{what}: {region}", 2 * sum_bytes(plan, [region], True), sum_bytes(whole, [region], True))
            checker.equal(f"{what}: statistics", sum_bytes(plan, ["stash"], False), sum_bytes(whole, ["stash"], False))
            for region in ("parameter", "gradient"):
                kept = [sum_bytes(p, [region], False) + sum_bytes(p, [region], True) for p in (plan, whole)]
                checker.equal(f"{what}: {region}", kept[0], kept[1])
            # The loss scale and the number of good steps, on each stage.
            states = [sum_bytes(p, ["state"], False) for p in (plan, whole)]
            checker.equal(f"{what}: state", states[0] - states[1], 16 if precision == "fp16" else 0)
            arenas = [sum(p["memory"]["arena_bytes"] for p in q["programs"]) for q in (plan, whole)]
            checker.equal(f"{what}: a smaller arena", arenas[0] < arenas[1], True)


def main():
    checks = {"communication": check_communication, "precision": check_precision, "stash": check_stash}
    check = checks.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if not check:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        checker = Checker(work)
        check(checker)
    return checker.close()


if __name__ == "__main__":
    sys.exit(main())
