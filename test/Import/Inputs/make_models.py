"""Makes the tiny models of test/Import and test/Import/refuse (needs the Python package onnx; the tests do not).

    python3 test/Import/Inputs/make_models.py

Every function named `model_…` is one file. Most are the classifier logits = x · w with one thing changed.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL, FLOAT16 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16
HERE = Path(__file__).resolve().parent
BATCH = "batch"


def tensor(name, *shape, dtype=np.float32, fill=None):
    count = int(np.prod(shape))
    values = np.arange(count) / 8 if fill is None else np.full(count, fill)
    return numpy_helper.from_array(values.reshape(shape).astype(dtype), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def scalar(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype=dtype), name)


def info(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, name=None, **attributes):
    domain = attributes.pop("domain", "")
    return helper.make_node(op, inputs.split(), outputs.split(), name=name or f"/{op}", domain=domain, **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), ir=8, imports=None):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers))
    opsets = [helper.make_opsetid("", opset)] if imports is None else imports
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=ir,
                             producer_name="shardc-test")


X = info("x", [BATCH, 4])
W = tensor("w", 4, 3)
LOGITS = info("logits", [BATCH, 3])
MATMUL = node("MatMul", "x w", "logits")


def classifier(nodes=(MATMUL,), inputs=(X,), outputs=(LOGITS,), initializers=(W,), **rest):
    return model(nodes, inputs, outputs, initializers, **rest)


# -- what must work ---------------------------------------------------------------------------------------------------

def model_accept():
    """Unsorted nodes, an output listed twice, an initializer that is an input too, an unused import, empty outputs."""
    nodes = [
        node("Add", "h b", "logits", "add"),
        node("Dropout", "y", "h ", "drop"),
        node("MatMul", "x w", "y", "mul"),
    ]
    return classifier(nodes, [X, info("w", [4, 3])], [LOGITS, LOGITS], [W, tensor("b", 3)],
                      imports=[helper.make_opsetid("", 17), helper.make_opsetid("unused.domain", 3)])


def model_fold():
    """Sizes by Shape, Gather, Concat and arithmetic; a causal mask by Range, Less, Where; Trilu; Expand; Tile."""
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape i1", "s", axis=0),
        node("Mul", "s two", "s2"),
        node("Div", "s2 two", "s3"),
        node("Unsqueeze", "s3 axis0", "s1"),
        node("Concat", "minus1 s1 four", "target", axis=0),
        node("Reshape", "x target", "x3"),
        node("Range", "zero s3 one", "r"),
        node("Unsqueeze", "r axis1", "rows"),
        node("Less", "rows r", "future", "future"),
        node("MatMul", "x3 wq", "q", "q"),
        node("Transpose", "q", "k", perm=[0, 2, 1]),
        node("MatMul", "q k", "scores", "scores"),
        node("Where", "future low scores", "masked", "masked"),
        node("Softmax", "masked", "p", axis=-1),
        node("MatMul", "p q", "o", "out"),
        node("ConstantOfShape", "s1", "ones", value=tensor("v", 1, fill=1)),
        node("Unsqueeze", "ones axis1", "ones1"),
        node("Tile", "ones1 tiles", "ones2"),
        node("Trilu", "ones2", "tri", upper=0),
        node("MatMul", "tri o", "mixed", "mixed"),
        node("MatMul", "mixed w", "logits", "head"),
    ]
    initializers = [
        tensor("wq", 4, 4), W, scalar("i1", 1, np.int64), scalar("two", 2, np.int64), scalar("zero", 0, np.int64),
        scalar("one", 1, np.int64), ints("axis0", 0), ints("axis1", 1), ints("minus1", -1), ints("four", 4),
        scalar("low", -np.inf), ints("tiles", 1, 8),
    ]
    return model(nodes, [info("x", [BATCH, 8, 4])], [info("logits", [BATCH, 8, 3])], initializers)


def model_opset9():
    """Attributes that became inputs later: Squeeze, Unsqueeze, Slice, Clip, Pad, ReduceSum; Softmax over all that follows."""
    nodes = [
        node("Unsqueeze", "x", "a", axes=[1]),
        node("Squeeze", "a", "b", axes=[1]),
        node("Pad", "b", "c", "pad", pads=[0, 1, 0, 1], value=2.0),
        node("Slice", "c", "d", "slice", starts=[1], ends=[-1], axes=[1]),
        node("Clip", "d", "e", "clip", min=-1.0, max=1.0),
        node("MatMul", "e w", "f"),
        node("Reshape", "f s", "g"),
        node("Softmax", "g", "h", "softmax", axis=1),
        node("ReduceSum", "h", "logits", "sum", axes=[2], keepdims=0),
    ]
    return classifier(nodes, initializers=[W, ints("s", -1, 3, 1)], opset=9, ir=4)


def _loss(last, scores, extra=(), labels=None):
    nodes = [node("MatMul", "x w", "y"), *last]
    return model(nodes, [info("x", scores["x"]), info("labels", labels or [BATCH], INT64)], [info("loss", [])],
                 [W, *extra], opset=scores.get("opset", 13))


def model_loss_classes_in_the_middle():
    nodes = [
        node("MatMul", "x w", "y"), node("Transpose", "y", "z", perm=[0, 2, 1]),
        node("SoftmaxCrossEntropyLoss", "z labels", "loss", ignore_index=-1),
    ]
    return model(nodes, [info("x", [BATCH, 5, 4]), info("labels", [BATCH, 5], INT64)], [info("loss", [])], [W])


def model_loss_nll_weights():
    nodes = [
        node("LogSoftmax", "y", "z", axis=1), node("NegativeLogLikelihoodLoss", "z labels classes", "loss", "nll"),
    ]
    return _loss(nodes, {"x": [BATCH, 4]}, [tensor("classes", 3)])


def model_loss_none():
    nodes = [node("SoftmaxCrossEntropyLoss", "y labels", "l", reduction="none"), node("ReduceMean", "l", "loss", keepdims=0)]
    return _loss(nodes, {"x": [BATCH, 4]})


def model_loss_opaque():
    nodes = [
        node("SoftmaxCrossEntropyLoss", "y labels", "l", reduction="mean"), node("ReduceMean", "y", "m", keepdims=0),
        node("Add", "l m", "loss"),
    ]
    return _loss(nodes, {"x": [BATCH, 4]})


def model_parameters():
    """A norm scale that is used twice, a matrix that is used twice, a vector in no slot, a scale by hand (RMS)."""
    nodes = [
        node("LayerNormalization", "x g b", "a", "ln1"),
        node("MatMul", "a m", "c", "first"),
        node("Identity", "g", "g2", "alias"),
        node("LayerNormalization", "c g2", "d", "ln2"),
        node("MatMul", "d m", "e", "second"),
        node("Mul", "e lonely", "f", "times"),
        node("Mul", "f f", "sq"),
        node("ReduceMean", "sq", "ms", "rms", axes=[-1]),
        node("Add", "ms eps", "ms2"),
        node("Sqrt", "ms2", "root"),
        node("Div", "f root", "n"),
        node("Mul", "n gamma", "o", "scale"),
        node("Add", "o beta", "p", "shift"),
        node("MatMul", "p w", "logits", "head"),
    ]
    initializers = [
        tensor("g", 4, fill=1), tensor("b", 4), tensor("m", 4, 4), tensor("lonely", 4), scalar("eps", 1e-5),
        tensor("gamma", 4, fill=1), tensor("beta", 4), W,
    ]
    return classifier(nodes, initializers=initializers)


def model_split_views():
    """A norm scale that becomes two parameters, read through views, by nothing, and as an output of the graph."""
    nodes = [
        node("LayerNormalization", "x g", "a", "ln1"),
        node("Transpose", "g", "gt", "turned", perm=[0]),
        node("Reshape", "gt four", "g2", "alias"),
        node("LayerNormalization", "a g2", "d", "ln2"),
        node("Reshape", "g four", "unused", "nobody's"),
        node("MatMul", "d w", "logits", "head"),
    ]
    return classifier(nodes, outputs=[LOGITS, info("g", [4])], initializers=[tensor("g", 4, fill=1), W, ints("four", 4)])


def model_broadcasts():
    """MatMul with broadcast batches, of vectors, of a matrix by a batch; Gemm with alpha, beta and transA."""
    nodes = [
        node("MatMul", "x t", "a", "stack"),  # [b,2,3,4] x [2,4,4]
        node("MatMul", "left a", "c", "left"),  # [3,3] x [b,2,3,4]
        node("MatMul", "c v", "d", "vector"),  # [b,2,3,4] x [4] -> [b,2,3]
        node("Flatten", "d", "e"),
        node("Transpose", "e", "f", "t", perm=[1, 0]),
        node("Gemm", "f gw gb", "logits", "gemm", alpha=0.5, beta=2.0, transA=1),
    ]
    initializers = [tensor("t", 2, 4, 4), tensor("left", 3, 3), tensor("v", 4), tensor("gw", 6, 3), tensor("gb", 3)]
    return model(nodes, [info("x", [BATCH, 2, 3, 4])], [LOGITS], initializers)


def model_typed():
    """A weight in packed float_data, one in a Constant node, a bias as float16 bit patterns that is cast."""
    w = helper.make_tensor("w", FLOAT, [4, 3], [i / 8 for i in range(12)])
    b = helper.make_tensor("b16", FLOAT16, [3], [0.5, 1.0, 1.5])
    nodes = [
        MATMUL_TO_Y, node("Constant", "", "c", "constant", value=tensor("", 3, 3)),
        node("MatMul", "y c", "z", "second"), node("Cast", "b16", "b", "cast", to=FLOAT),
        node("Mul", "z b", "logits", "times"),
    ]
    return classifier(nodes, initializers=[w, b])


MATMUL_TO_Y = node("MatMul", "x w", "y", "first")


def model_overload():
    """Two functions of one name told apart by their overload; an optional input left out; a default attribute."""
    opsets = [helper.make_opsetid("", 18)]
    leaky = node("LeakyRelu", "v", "r", "leaky")
    leaky.attribute.append(AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT))
    one = helper.make_function("local", "Act", ["v", "unused"], ["r"], [leaky], opsets,
                               attribute_protos=[helper.make_attribute("slope", 0.25)])
    two = helper.make_function("local", "Act", ["v"], ["r"], [node("Tanh", "v", "r", "tanh")], opsets)
    two.overload = "tanh"
    call = node("Act", "z", "logits", "call2", domain="local")
    call.overload = "tanh"
    nodes = [MATMUL_TO_Y, node("Act", "y", "z", "call1", domain="local"), call]
    return classifier(nodes, functions=[one, two], ir=10, opset=18,
                      imports=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)])


# -- what must be refused ---------------------------------------------------------------------------------------------

def refuse_no_graph():
    m = classifier()
    m.ClearField("graph")
    return m


def refuse_ir():
    return classifier(ir=99)


def refuse_no_opset():
    return classifier(imports=[helper.make_opsetid("other", 1)])


def refuse_two_opsets():
    return classifier(imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx", 16)])


def refuse_opset():
    return classifier(opset=8)


def refuse_training_info():
    m = classifier()
    m.training_info.add()
    return m


def refuse_cycle():
    return classifier([node("Add", "x b", "a", "first"), node("Add", "a a", "b", "second"), MATMUL])


def refuse_duplicate_value():
    return classifier([MATMUL, node("Relu", "x", "logits", "again")])


def refuse_undefined():
    return classifier([node("MatMul", "nowhere w", "logits")])


def refuse_no_producer():
    return classifier(outputs=[info("missing", [BATCH, 3])])


def refuse_duplicate_initializer():
    return classifier(initializers=[W, W])


def refuse_initializer_output():
    return classifier([MATMUL, node("Relu", "x", "w", "again")])


def refuse_unknown_ops():
    return classifier([node("Conv", "x w", "a", "conv"), node("FusedThing", "a", "b", "fused", domain="com.microsoft"),
                       node("Conv", "b w", "logits", "conv2")])


def refuse_newer_op():
    return classifier([node("Gelu", "x", "y", "gelu"), node("MatMul", "y w", "logits")])


def refuse_arity():
    return classifier([node("MatMul", "x w w", "logits")])


def refuse_empty_input():
    m = classifier()
    m.graph.node[0].input[1] = ""
    return m


def refuse_attributes():
    m = classifier([node("Gemm", "x w", "logits", alpha=1, beta=1.0, gamma=3), node("Concat", "x x", "unused")])
    return m


def refuse_twice_an_attribute():
    m = classifier([node("Gemm", "x w", "logits", beta=1.0)])
    m.graph.node[0].attribute.append(helper.make_attribute("beta", 2.0))
    return m


def refuse_ref_attr():
    m = classifier([node("Gemm", "x w", "logits")])
    m.graph.node[0].attribute.append(AttributeProto(name="beta", ref_attr_name="b", type=AttributeProto.FLOAT))
    return m


def _function(name, body, **attributes):
    return helper.make_function("local", name, ["v"], ["r"], body, [helper.make_opsetid("", 17),
                                helper.make_opsetid("local", 1)], **attributes)


def _calling(functions):
    return classifier([MATMUL_TO_Y, node("A", "y", "logits", "call", domain="local")], functions=functions,
                      imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])


def refuse_recursion():
    return _calling([_function("A", [node("B", "v", "r", domain="local")]),
                     _function("B", [node("A", "v", "r", domain="local")])])


def refuse_two_functions():
    return _calling([_function("A", [node("Relu", "v", "r")]), _function("A", [node("Tanh", "v", "r")])])


def _tensor_changed(change):
    w = tensor("w", 4, 3)
    change(w)
    return classifier(initializers=[w])


def refuse_negative_dim():
    return _tensor_changed(lambda w: w.dims.__setitem__(0, -4))


def refuse_dim_overflow():
    return _tensor_changed(lambda w: w.dims.extend([2**40, 2**40]))


def refuse_dtype():
    return _tensor_changed(lambda w: setattr(w, "data_type", 77))


def refuse_raw_length():
    return _tensor_changed(lambda w: setattr(w, "raw_data", w.raw_data[:-4]))


def refuse_raw_and_typed():
    return _tensor_changed(lambda w: w.float_data.append(1))


def refuse_typed_count():
    w = helper.make_tensor("w", FLOAT, [4, 3], [0.0] * 12)
    del w.float_data[-1]
    return classifier(initializers=[w])


def refuse_strings():
    return classifier(initializers=[helper.make_tensor("w", TensorProto.STRING, [1], ["a"])])


def refuse_sparse():
    m = classifier(initializers=[])
    m.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor("w", 1), ints("i", 0), [4, 3]))
    return m


def refuse_complex():
    return _tensor_changed(lambda w: setattr(w, "data_type", TensorProto.COMPLEX64))


def refuse_no_elements():
    return _tensor_changed(lambda w: w.dims.__setitem__(0, 0))


def refuse_half():
    return model([MATMUL], [info("x", [BATCH, 4], FLOAT16)], [info("logits", [BATCH, 3], FLOAT16)],
                 [tensor("w", 4, 3, dtype=np.float16)])


def _external(**entries):
    def change(w):
        w.ClearField("raw_data")
        w.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            w.external_data.add(key=key, value=value)
    return _tensor_changed(change)


def refuse_external_absolute():
    return _external(location="/etc/passwd")


def refuse_external_dotdot():
    return _external(location="a/../../weights")


def refuse_external_missing():
    return _external(location="no_such_file")


def refuse_external_link():
    return _external(location="link")


def refuse_external_offset():
    return _external(location="make_models.py", offset="-4")


def refuse_external_end():
    return _external(location="make_models.py", offset="100000000")


def refuse_external_key():
    return _external(location="make_models.py", colour="red")


def refuse_external_length():
    return _external(location="make_models.py", length="12")


def refuse_external_checksum():
    return _external(location="make_models.py", checksum="00" * 20)


def refuse_unbound():
    return classifier(inputs=[info("x", [BATCH, "features"])])


def refuse_fixed_batch():
    return classifier(inputs=[info("x", [3, 4])], outputs=[info("logits", [3, 3])])


def refuse_scalar_input():
    return classifier([node("Add", "w s", "v", "add"), node("MatMul", "x v", "logits")], [X, info("s", [])])


def refuse_declared():
    return classifier(outputs=[info("logits", [BATCH, 7])])


def refuse_matmul():
    return classifier(initializers=[tensor("w", 5, 3)])


def refuse_broadcast():
    return classifier([MATMUL_TO_Y, node("Add", "y b", "logits", "add"), node("Relu", "logits", "after", "after")],
                      initializers=[W, tensor("b", 2)])


def refuse_reshape():
    return classifier([MATMUL_TO_Y, node("Reshape", "y s", "logits", "reshape")], initializers=[W, ints("s", 5, 7)])


def refuse_axis():
    return classifier([MATMUL_TO_Y, node("Softmax", "y", "a", "softmax", axis=2),
                       node("Transpose", "y", "logits", "transpose", perm=[0, 0])])


def refuse_split():
    return classifier([MATMUL_TO_Y, node("Split", "y s", "logits b", "split", axis=1)], initializers=[W, ints("s", 1, 1)])


def refuse_index():
    return classifier([MATMUL_TO_Y, node("Gather", "y i", "logits", "gather", axis=1)], initializers=[W, ints("i", 0, 3)])


def refuse_data_shape():
    return classifier([MATMUL_TO_Y, node("Cast", "x", "s", "cast", to=INT64), node("Reshape", "y s", "logits", "reshape")])


def refuse_statistics():
    return classifier([node("LayerNormalization", "x g", "a mean", "ln"), node("Add", "a mean", "c", "add"),
                       node("MatMul", "c w", "logits")], initializers=[W, tensor("g", 4)])


def refuse_no_trainable():
    return model([node("ReduceMean", "x", "loss", keepdims=0)], [X], [info("loss", [])], [W])


def refuse_labels():
    nodes = [MATMUL_TO_Y, node("SoftmaxCrossEntropyLoss", "y labels", "loss", "ce")]
    return model(nodes, [X, info("labels", [BATCH, 3])], [info("loss", [])], [W])


def refuse_sequence():
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [BATCH, 4])
    return classifier(inputs=[sequence])


def refuse_name():
    """A name that is no UTF-8: the library of protobuf checks, so that the bytes are changed afterwards."""
    return PatchedModel(classifier([node("MatMul", "x w", "y"), node("Relu", "y", "logits", "act??")]), b"act??", b"a\xff\x1b[m")


def refuse_control_name():
    return classifier([node("MatMul", "x w", "y", "red \x1b[31m\nerror: \u0085"), node("Conv", "y", "logits", "\x07")])


def refuse_malformed():
    """An input whose length leads out of its message."""
    return PatchedModel(classifier([MATMUL], [info("x", ["b"])]), b"\x12\x01b", b"\x12\x7fb")


def calls(levels, width):
    """Functions F0 … of which each calls the next `width` times."""
    functions = []
    for level in range(levels):
        op, domain = ("Identity", "") if level + 1 == levels else (f"F{level + 1}", "f")
        nodes = [node(op, "a" if k == 0 else f"t{k - 1}", "z" if k + 1 == width else f"t{k}", domain=domain)
                 for k in range(width)]
        functions.append(helper.make_function("f", f"F{level}", ["a"], ["z"], nodes,
                                              [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]))
    return classifier([node("MatMul", "x w", "y"), node("F0", "y", "logits", domain="f")], functions=functions,
                      imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])


def refuse_many_nodes():
    return calls(30, 2)


def refuse_deep_calls():
    return calls(120, 1)


def refuse_step():
    return classifier([node("Slice", "x s e a z", "y", "slice"), node("MatMul", "y w", "logits")],
                      initializers=[W, ints("s", 0), ints("e", 4), ints("a", 1), ints("z", 0)])


def refuse_range():
    nodes = [node("Range", "start limit delta", "r", "range"), node("ReduceSum", "r", "sum", keepdims=0),
             node("MatMul", "x w", "y"), node("Add", "y sum", "logits")]
    return classifier(nodes, initializers=[W, scalar("start", 0), scalar("limit", 2e9), scalar("delta", 1)])


def refuse_declared_type():
    return classifier(outputs=[info("logits", [BATCH, 3], TensorProto.DOUBLE)])


def refuse_ratio():
    return classifier([node("Dropout", "x r t", "y", "drop"), node("MatMul", "y w", "logits")],
                      initializers=[W, scalar("r", 1.5), scalar("t", True, np.bool_)])


class PatchedModel:
    """A model with some bytes changed for as many others."""

    def __init__(self, proto, old, new):
        data = proto.SerializeToString(deterministic=True)
        assert len(old) == len(new) and old in data
        self.data = data.replace(old, new)

    def SerializeToString(self, deterministic):
        return self.data


def write(name, proto):
    (HERE / f"{name}.onnx").write_bytes(proto.SerializeToString(deterministic=True))


def main():
    for old in HERE.glob("*.onnx"):
        old.unlink()
    module = sys.modules[__name__]
    for name in sorted(dir(module)):
        kind, _, rest = name.partition("_")
        if kind in ("model", "refuse") and rest:
            write(rest if kind == "model" else f"refuse_{rest}", getattr(module, name)())


if __name__ == "__main__":
    main()
