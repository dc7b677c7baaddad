"""Checks the committed references against the committed ONNX files, with the `onnx` package's own evaluator.

Two things for each model, in fp32 and with Dropout 0: the loss of the first batch is the first of
losses.json, and the difference of the loss along a random direction is the product of that direction with
gradients.safetensors. Names, orientation and the entries `<initializer>#k` are all caught by the second.
"""

import json

import numpy as np
import onnx
import onnx.inliner
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file

import data
from fixtures import EXAMPLES, FIXTURES

STEP = 3e-2  # large, since fp32 losses are known to 5e-7 only


def _without_dropout(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0), "ratio_0"))
    for node in model.graph.node:
        if node.op_type == "Dropout":
            node.input[1] = "ratio_0"
    return model


def _split_merged(model: onnx.ModelProto, gradients: dict[str, np.ndarray]) -> None:
    """Gives each use of an initializer with entries `#k` an initializer of that name."""
    merged = {name.split("#")[0] for name in gradients if "#" in name}
    tensors = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    count = dict.fromkeys(merged, 0)
    for node in model.graph.node:
        for j, name in enumerate(node.input):
            if name in merged:
                node.input[j] = f"{name}#{count[name]}"
                count[name] += 1
                model.graph.initializer.append(numpy_helper.from_array(tensors[name], node.input[j]))


def _loss(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> float:
    inputs = {value.name for value in model.graph.input}
    (result,) = ReferenceEvaluator(model).run(None, {k: v for k, v in feeds.items() if k in inputs})
    if result.ndim == 0:
        return float(result)
    logits = result.astype(np.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    rows = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(logits)), feeds["labels"]]
    return float(rows.mean())


def _moved(model: onnx.ModelProto, direction: dict[str, np.ndarray], step: float) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for tensor in result.graph.initializer:
        if tensor.name in direction:
            value = numpy_helper.to_array(tensor) + np.float32(step) * direction[tensor.name]
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return result


def _check(path, feeds: dict[str, np.ndarray]) -> None:
    folder = EXAMPLES / "reference" / path.stem
    gradients = load_file(folder / "gradients.safetensors")
    expected = json.loads((folder / "losses.json").read_text())["sgd"]["losses"][0]
    model = _without_dropout(onnx.inliner.inline_local_functions(onnx.load(path)))
    _split_merged(model, gradients)
    loss = _loss(model, feeds)
    rng = np.random.default_rng(0)
    worst = 0.0
    for name, gradient in gradients.items():  # one tensor at a time, along its gradient and some noise
        noise = rng.standard_normal(gradient.shape) * np.linalg.norm(gradient) / np.sqrt(gradient.size)
        direction = gradient + noise.astype(np.float32)
        direction /= np.linalg.norm(direction)
        ends = [_loss(_moved(model, {name: direction}, s * STEP), feeds) for s in (-1, 1)]
        slope, product = (ends[1] - ends[0]) / (2 * STEP), float((gradient * direction).sum())
        scale = np.linalg.norm(gradient) + 2e-4  # fp32 losses: smaller slopes drown in rounding
        worst = max(worst, abs(slope - product) / scale)
    verdict = "ok" if abs(loss / expected - 1) < 2e-6 and worst < 0.05 else "WRONG"
    print(f"{verdict} {path.stem}: loss {loss:.7f}, {loss / expected - 1:+.1e}; worst slope error {worst:.1e}")


if __name__ == "__main__":
    for fixture in FIXTURES:
        arrays = data.tokens() if fixture.family.is_decoder else data.features()
        first = {name: array[: data.GLOBAL_BATCH] for name, array in arrays.items()}
        for perturbed in (False, True)[: 1 + fixture.perturbed]:
            _check(fixture.path(perturbed), first)
