"""Makes the odd little decoders of test/EndToEnd (needs the Python package onnx; the tests do not).

    python3 test/EndToEnd/Inputs/make_decoders.py

Sizes are products of 3, 5 and 7, so that no dimension is another one's by chance. `Decoder` can also be imported, to make
others.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

HERE = Path(__file__).resolve().parent


@dataclass
class Decoder:
    """A decoder with causal attention, a GELU or a ReLU, and its loss."""

    layers: int = 1
    heads: int = 3
    head_width: int = 5
    hidden: int = 21  # of the MLP
    sequence: int = 7
    vocabulary: int = 21
    tied: bool = True  # the head's weight is the embedding's
    tied_middle: bool = False  # the embedding's weight is also a bias of the scores of the middle layer's output
    activation: str = "Gelu"  # "Gelu", "Relu", "Tanh"
    unused: bool = False  # one more parameter, which the loss does not depend on
    dropout: float = 0.0
    shared_layers: bool = False  # all layers have the weights of the first
    seed: int = 1

    def __post_init__(self):
        self.width = self.heads * self.head_width
        self.random = np.random.default_rng(self.seed)
        self.nodes, self.initializers = [], {}

    def parameter(self, name, *shape, center=0.0):
        if name not in self.initializers:
            scale = 0.1 if len(shape) == 1 else shape[0] ** -0.5
            values = center + scale * self.random.standard_normal(shape)
            self.initializers[name] = numpy_helper.from_array(values.astype(np.float32), name)
        return name

    def constant(self, name, values):
        self.initializers.setdefault(name, numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, op, inputs, name, outputs=1, **attributes):
        names = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x, name, inputs, outputs):
        layer = name
        if self.shared_layers and name.startswith("h."):
            layer = "h.0." + name.split(".", 2)[2]
        product = self.node("MatMul", [x, self.parameter(f"{layer}.weight", inputs, outputs)], f"/{name}/MatMul")
        return self.node("Add", [product, self.parameter(f"{layer}.bias", outputs)], f"/{name}/Add")

    def norm(self, x, name):
        weight, bias = (self.parameter(f"{name}.{part}", self.width, center=center) for part, center in
                        (("weight", 1.0), ("bias", 0.0)))
        return self.node("LayerNormalization", [x, weight, bias], f"/{name}/LayerNormalization", axis=-1, epsilon=1e-5)

    def drop(self, x, name):
        if not self.dropout:
            return x
        ratio = self.constant("dropout.ratio", np.float32(self.dropout))
        return self.node("Dropout", [x, ratio, self.constant("dropout.training", np.bool_(True))], f"/{name}/Dropout")

    def attention(self, x, name):
        size, heads = [0, self.sequence, self.heads, self.head_width], []
        parts = self.node("Split", [self.linear(x, f"{name}.qkv", self.width, 3 * self.width),
                                    self.constant("split", np.array([self.width] * 3, np.int64))],
                          f"/{name}/Split", outputs=3, axis=2)
        for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
            split = self.node("Reshape", [part, self.constant("heads", np.array(size, np.int64))], f"/{part}/Reshape")
            heads.append(self.node("Transpose", [split], f"/{part}/Transpose", perm=perm))
        scores = self.node("MatMul", heads[:2], f"/{name}/MatMul")
        scores = self.node("Mul", [scores, self.constant("scale", np.float32(self.head_width**-0.5))], f"/{name}/Mul")
        mask = self.constant("mask", np.tril(np.ones((1, 1, self.sequence, self.sequence), np.bool_)))
        masked = self.node("Where", [mask, scores, self.constant("lowest", np.float32(-1e9))], f"/{name}/Where")
        weights = self.drop(self.node("Softmax", [masked], f"/{name}/Softmax", axis=-1), f"{name}/weights")
        out = self.node("Transpose", [self.node("MatMul", [weights, heads[2]], f"/{name}/MatMul_1")],
                        f"/{name}/Transpose", perm=[0, 2, 1, 3])
        merged = self.node("Reshape", [out, self.constant("merged", np.array([0, self.sequence, self.width], np.int64))],
                           f"/{name}/Reshape")
        return self.drop(self.linear(merged, f"{name}.proj", self.width, self.width), name)

    def activate(self, x, name):
        if self.activation != "Gelu":
            return self.node(self.activation, [x], f"/{name}/{self.activation}")
        scaled = self.node("Mul", [x, self.constant("gelu.scale", np.float32(0.5**0.5))], f"/{name}/Mul")
        shifted = self.node("Add", [self.node("Erf", [scaled], f"/{name}/Erf"), self.constant("one", np.float32(1))],
                            f"/{name}/Add")
        half = self.node("Mul", [x, self.constant("half", np.float32(0.5))], f"/{name}/Mul_1")
        return self.node("Mul", [half, shifted], f"/{name}/Mul_2")

    def layer(self, x, name):
        x = self.node("Add", [x, self.attention(self.norm(x, f"{name}.ln_1"), f"{name}.attn")], f"/{name}/Add")
        hidden = self.activate(self.linear(self.norm(x, f"{name}.ln_2"), f"{name}.fc", self.width, self.hidden),
                               f"{name}/act")
        return self.node("Add", [x, self.drop(self.linear(hidden, f"{name}.out", self.hidden, self.width), name)],
                         f"/{name}/Add_1")

    def logits(self, x, name, table):
        turned = self.node("Transpose", [table], f"/{name}/Transpose", perm=[1, 0])
        return self.node("MatMul", [x, turned], f"/{name}/MatMul")

    def build(self):
        table = self.parameter("wte.weight", self.vocabulary, self.width)
        x = self.node("Add", [self.node("Gather", [table, "input_ids"], "/wte/Gather"),
                              self.parameter("wpe.weight", self.sequence, self.width)], "/wpe/Add")
        for i in range(self.layers):
            x = self.layer(x, f"h.{i}")
            if self.tied_middle and i == (self.layers - 1) // 2:
                mixed = self.node("Softmax", [self.logits(x, "middle", table)], "/middle/Softmax", axis=-1)
                x = self.node("Add", [x, self.node("MatMul", [mixed, table], "/middle/MatMul_1")], "/middle/Add")
        head = table if self.tied else self.parameter("head.weight", self.vocabulary, self.width)
        logits = self.logits(self.norm(x, "ln_f"), "head", head)
        rows = self.node("Reshape", [logits, self.constant("rows", np.array([-1, self.vocabulary], np.int64))],
                         "/rows/Reshape")
        flat = self.node("Reshape", ["labels", self.constant("flat", np.array([-1], np.int64))], "/flat/Reshape")
        outputs = ["loss"]
        self.nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", [rows, flat], ["loss"], name="/loss",
                                           ignore_index=-100, reduction="mean"))
        infos = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
        if self.unused:
            self.node("MatMul", [x, self.parameter("unused.weight", self.width, 9)], "/unused/MatMul")
        ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", self.sequence])
               for name in ("input_ids", "labels")]
        graph = helper.make_graph(self.nodes, "decoder", ids, infos, list(self.initializers.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                                 producer_name="shardc-test")


# Tied over three stages; one layer, to be cut inside of its attention; a parameter that nothing needs.
MODELS = {
    "tied_thrice": Decoder(layers=2, heads=2, tied_middle=True),
    "one_layer": Decoder(layers=1, heads=6, vocabulary=35),
    "unused_parameter": Decoder(layers=2, tied=False, unused=True, activation="Relu"),
}

def threshold():
    """A classifier with a parameter that is only compared: it is trainable, and its gradient is zero."""
    make = Decoder()
    hidden = make.node("MatMul", ["x", make.parameter("first.weight", 15, 30)], "/first/MatMul")
    above = make.node("Greater", [hidden, make.parameter("threshold", 30)], "/Greater")
    kept = make.node("Where", [above, hidden, make.constant("zero", np.float32(0))], "/Where")
    turned = make.node("Tanh", [make.node("MatMul", [kept, make.parameter("second.weight", 30, 21)], "/second/MatMul")],
                       "/Tanh")
    logits = make.node("MatMul", [turned, make.parameter("third.weight", 21, 14)], "/third/MatMul")
    make.nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", [logits, "labels"], ["loss"], name="/loss"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(make.nodes, "classifier", [info("x", TensorProto.FLOAT, ["batch", 15]),
                                                         info("labels", TensorProto.INT64, ["batch"])],
                              [info("loss", TensorProto.FLOAT, [])], list(make.initializers.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                             producer_name="shardc-test")


if __name__ == "__main__":
    save(threshold(), HERE / "threshold.onnx")
    for name, decoder in MODELS.items():
        save(decoder.build(), HERE / f"{name}.onnx")
