"""From the names of PyTorch's parameters to those of the initializers in an ONNX file.

Exporters rename, transpose and merge weights, so the names are found by value, in the file's *twin*: the same
export at the perturbed point, where no two tensors are equal. Both files have the same nodes in the same
order, hence operand j of node i is the same parameter in both.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch


@dataclass(frozen=True)
class Source:
    """The parameter that an initializer holds, and whether it lies transposed there."""

    parameter: str
    transposed: bool

    def convert(self, tensor: torch.Tensor) -> torch.Tensor:
        return (tensor.T if self.transposed else tensor).contiguous()


def _weights(path: Path) -> dict[str, np.ndarray]:
    model = onnx.load(path)
    tensors = ((t.name, onnx.numpy_helper.to_array(t)) for t in model.graph.initializer)
    return {name: array for name, array in tensors if array.dtype == np.float32 and array.ndim >= 1}


def _uses(path: Path, weights: dict[str, np.ndarray]) -> list[tuple[int, int, str]]:
    """(node, operand, initializer) of every use of a weight, in node order."""
    nodes = onnx.load(path, load_external_data=False).graph.node
    return [
        (i, j, name) for i, node in enumerate(nodes) for j, name in enumerate(node.input) if name in weights
    ]


def _identify(array: np.ndarray, module: torch.nn.Module) -> Source | None:
    for name, parameter in module.named_parameters():
        value = parameter.detach().numpy()
        if np.array_equal(array, value):
            return Source(name, False)
        if value.ndim == 2 and np.array_equal(array, value.T):
            return Source(name, True)
    return None


def sources(path: Path, twin: Path, twin_module: torch.nn.Module) -> dict[str, Source]:
    """The source of every initializer of `path` that holds a parameter.

    An initializer into which the exporter merged several parameters has one entry for each of its uses,
    `<initializer>#k` with k = 0, 1, ... in node order.
    """
    uses, twin_weights = _uses(path, _weights(path)), _weights(twin)
    twin_uses = _uses(twin, twin_weights)
    assert [use[:2] for use in uses] == [use[:2] for use in twin_uses], f"{path} and its twin differ"
    found: dict[str, list[Source]] = {}
    for (_, _, name), (_, _, twin_name) in zip(uses, twin_uses):
        source = _identify(twin_weights[twin_name], twin_module)
        if source:
            found.setdefault(name, []).append(source)
    result = {}
    for name, several in found.items():
        if len(set(several)) == 1:
            result[name] = several[0]
        else:
            result.update({f"{name}#{k}": source for k, source in enumerate(several)})
    missing = {n for n, _ in twin_module.named_parameters()} - {s.parameter for s in result.values()}
    assert not missing, f"{path} does not hold {missing}"
    return result
