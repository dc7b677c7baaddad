"""A classifier by hand whose layers are model-local functions, nested two deep, with attribute references.

    LinearRelu(x, w, b; scale, transposed) = Relu(Linear(x, w, b; scale, transposed))
    Linear(x, w, b; scale = 1, transposed) = Gemm(x, w, b; alpha = scale, transB = transposed)

The graph calls LinearRelu four times and Linear once; the weights of layers 1 and 3 lie transposed, and
layer 2 has scale 0.5.
"""

from pathlib import Path

import onnx
import torch
import torch.nn as nn
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "shardc.example"
SIZES = (32, 64, 64, 32, 64, 16)
SCALES = (1.0, 1.0, 0.5, 1.0, 1.0)
TRANSPOSED = (1, 0, 1, 0, 1)  # 1: the weight is [outputs, inputs], as in nn.Linear


class FunctionsMlp(nn.Module):
    """The same classifier in PyTorch; parameters are named and laid out as the initializers."""

    def __init__(self):
        super().__init__()
        for i, (inputs, outputs) in enumerate(zip(SIZES, SIZES[1:])):
            shape = (outputs, inputs) if TRANSPOSED[i] else (inputs, outputs)
            self.register_parameter(f"w{i}", nn.Parameter(torch.empty(shape)))
            self.register_parameter(f"b{i}", nn.Parameter(torch.empty(outputs)))

    def forward(self, x):
        for i, scale in enumerate(SCALES):
            weight = getattr(self, f"w{i}")
            x = scale * (x @ (weight.T if TRANSPOSED[i] else weight)) + getattr(self, f"b{i}")
            if i < len(SCALES) - 1:
                x = torch.relu(x)
        return x


def _reference(name: str, source: str, kind: int) -> onnx.AttributeProto:
    """Attribute `name` of a node in a function, taken from the function's attribute `source`."""
    return onnx.AttributeProto(name=name, ref_attr_name=source, type=kind)


def _functions() -> list[onnx.FunctionProto]:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    kinds = onnx.AttributeProto
    gemm = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="gemm", beta=1.0)
    gemm.attribute.append(_reference("alpha", "scale", kinds.FLOAT))
    gemm.attribute.append(_reference("transB", "transposed", kinds.INT))
    linear = helper.make_function(
        DOMAIN, "Linear", ["x", "w", "b"], ["y"], [gemm], opsets,
        attributes=["transposed"], attribute_protos=[helper.make_attribute("scale", 1.0)],
    )
    call = helper.make_node("Linear", ["x", "w", "b"], ["z"], name="linear", domain=DOMAIN)
    call.attribute.append(_reference("scale", "scale", kinds.FLOAT))
    call.attribute.append(_reference("transposed", "transposed", kinds.INT))
    relu = helper.make_node("Relu", ["z"], ["y"], name="relu")
    block = helper.make_function(
        DOMAIN, "LinearRelu", ["x", "w", "b"], ["y"], [call, relu], opsets,
        attributes=["scale", "transposed"],
    )
    return [block, linear]


def export(model: FunctionsMlp, path: Path) -> None:
    """Writes the classifier with the weights of `model`."""
    nodes, value = [], "x"
    for i, scale in enumerate(SCALES):
        last = i == len(SCALES) - 1
        output = "logits" if last else f"h{i}"
        attributes = {"transposed": TRANSPOSED[i]}
        if not last:  # the last call leaves `scale` to the function's default
            attributes["scale"] = scale
        nodes.append(
            helper.make_node(
                "Linear" if last else "LinearRelu", [value, f"w{i}", f"b{i}"], [output],
                name=f"layer{i}", domain=DOMAIN, **attributes,
            )
        )
        value = output
    graph = helper.make_graph(
        nodes, "functions_mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", SIZES[0]])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", SIZES[-1]])],
        [numpy_helper.from_array(p.detach().numpy(), name) for name, p in model.named_parameters()],
    )
    proto = helper.make_model(
        graph, functions=_functions(), ir_version=9, producer_name="shardc-example",
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)],
    )
    onnx.checker.check_model(proto, full_check=True)
    path.write_bytes(proto.SerializeToString(deterministic=True))
