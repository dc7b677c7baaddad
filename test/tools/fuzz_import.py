#!/usr/bin/env python3
"""Feeds mutated models to shardc: each run ends with exit code 0, or 1 with an `error:` line and a `note:` of its remedy.

    fuzz_import.py SHARDC MODEL… [--runs N] [--seed S] [--seconds T] [--keep DIR] [--emit PHASE|plan] [-- OPTIONS OF SHARDC]

Mutations are of two kinds: of bytes (cut, flipped), and of meaning. The latter decode the protobuf by a table of ONNX's
fields, so that no package is needed. Run k of a seed is the same everywhere. A finding is printed with its number and the
mutations that led to it; --keep writes its model. Exit code 1 if there is one.
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS, RESIDENT, ADDRESSES = 10, 2 << 30, 6 << 30

# -- protobuf by a table ----------------------------------------------------------------------------------------------
# Message: {field number: (name, kind)}; kinds: a message, or "int", "str", "bytes", "float", "ints", "floats".
SCHEMA = {
    "Model": {1: ("ir_version", "int"), 7: ("graph", "Graph"), 8: ("opset_import", "Opset"), 25: ("functions", "Function")},
    "Opset": {1: ("domain", "str"), 2: ("version", "int")},
    "Graph": {1: ("node", "Node"), 5: ("initializer", "Tensor"), 11: ("input", "Value"), 12: ("output", "Value"),
              13: ("value_info", "Value")},
    "Function": {1: ("name", "str"), 4: ("input", "str"), 5: ("output", "str"), 6: ("attribute", "str"),
                 7: ("node", "Node"), 9: ("opset_import", "Opset"), 10: ("domain", "str")},
    "Node": {1: ("input", "str"), 2: ("output", "str"), 3: ("name", "str"), 4: ("op_type", "str"),
             5: ("attribute", "Attribute"), 7: ("domain", "str")},
    "Attribute": {1: ("name", "str"), 2: ("f", "float"), 3: ("i", "int"), 4: ("s", "bytes"), 5: ("t", "Tensor"),
                  7: ("floats", "floats"), 8: ("ints", "ints"), 20: ("type", "int"), 21: ("ref_attr_name", "str")},
    "Tensor": {1: ("dims", "ints"), 2: ("data_type", "int"), 4: ("float_data", "floats"), 7: ("int64_data", "ints"),
               8: ("name", "str"), 9: ("raw_data", "bytes"), 13: ("external_data", "Entry"), 14: ("data_location", "int")},
    "Entry": {1: ("key", "str"), 2: ("value", "str")},
    "Value": {1: ("name", "str"), 2: ("type", "Type")},
    "Type": {1: ("tensor_type", "TensorType")},
    "TensorType": {1: ("elem_type", "int"), 2: ("shape", "Shape")},
    "Shape": {1: ("dim", "Dim")},
    "Dim": {1: ("dim_value", "int"), 2: ("dim_param", "str")},
}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def write_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def to_signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Message:
    """One message: its fields in order, each [name or number, kind or wire type, value]."""

    def __init__(self, kind, data=b""):
        self.kind, self.fields = kind, []
        at = 0
        while at < len(data):
            tag, at = read_varint(data, at)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, at = read_varint(data, at)
            elif wire == 2:
                size, at = read_varint(data, at)
                value, at = data[at:at + size], at + size
            else:
                size = 8 if wire == 1 else 4
                value, at = data[at:at + size], at + size
            self.add(number, wire, value)

    def add(self, number, wire, value):
        name, kind = SCHEMA[self.kind].get(number, (number, wire))
        if kind in SCHEMA:
            value = Message(kind, value)
        elif kind == "int":
            value = to_signed(value)
        elif kind in ("ints", "floats"):
            values = self.get_list(name)
            if kind == "ints" and wire == 2:
                at = 0
                while at < len(value):
                    element, at = read_varint(value, at)
                    values.append(to_signed(element))
            elif kind == "ints":
                values.append(to_signed(value))
            else:
                values += [struct.unpack_from("<f", value, i)[0] for i in range(0, len(value), 4)]
            return
        self.fields.append([name, kind, value])

    def get_list(self, name):
        """The elements of a repeated number, made where it is not there."""
        for field in self.fields:
            if field[0] == name:
                return field[2]
        self.fields.append([name, dict(SCHEMA[self.kind].values())[name], []])
        return self.fields[-1][2]

    def get_all(self, name):
        return [field[2] for field in self.fields if field[0] == name]

    def get(self, name, otherwise=None):
        return (self.get_all(name) or [otherwise])[-1]

    def remove(self, name):
        self.fields = [field for field in self.fields if field[0] != name]

    def set(self, name, value):
        self.remove(name)
        self.append(name, value)

    def append(self, name, value):
        self.fields.append([name, dict(SCHEMA[self.kind].values())[name], value])

    def encode(self):
        numbers = {name: number for number, (name, _) in SCHEMA[self.kind].items()}
        out = bytearray()
        for name, kind, value in self.fields:
            number = numbers.get(name, name)
            if kind in SCHEMA:
                value, wire = value.encode(), 2
            elif kind == "int":
                wire = 0
            elif kind == "ints":
                value, wire = b"".join(map(write_varint, value)), 2
            elif kind == "floats":
                value, wire = struct.pack(f"<{len(value)}f", *value), 2
            elif kind == "float":
                wire = 5
            else:
                wire = 2 if kind in ("str", "bytes") else kind
            out += write_varint(number << 3 | wire)
            if wire == 0:
                out += write_varint(value)
            elif wire == 2:
                out += write_varint(len(value)) + value
            else:
                out += value
        return bytes(out)


# -- mutations --------------------------------------------------------------------------------------------------------
NUMBERS = [0, 1, -1, 2, 3, -2, 7, 255, 1 << 20, 1 << 31, -(1 << 31), 1 << 32, 1 << 40, (1 << 62), (1 << 63) - 1, -(1 << 63)]
SIZES = [0, 1, 2, 3, 5, -1, -7, 1 << 16, 1 << 31, 1 << 33, 1 << 48, 1 << 62, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-45, 3e38, float("inf"), float("-inf"), float("nan")]
NAMES = [b"", b"\xff\xfe", b"a\x00b", b"\x1b[31mred", b"x" * 3000, "ä→".encode(), b"a\nerror: b", b"'", b"labels", b"loss"]
OPS = """Abs Add And Cast CastLike Ceil Clip Concat Constant ConstantOfShape Cos Div Dropout Equal Erf Exp Expand Flatten
Floor Gather Gelu Gemm Greater GreaterOrEqual Identity LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul
Max Min Mul Neg NegativeLogLikelihoodLoss Not Or Pad Pow RMSNormalization Range Reciprocal ReduceL2 ReduceMax ReduceMean
ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Round Shape Sigmoid Sin Size Slice Softmax
SoftmaxCrossEntropyLoss Softplus Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze Where Xor""".split()
ATTRIBUTES = [b"axis", b"axes", b"perm", b"keepdims", b"to", b"alpha", b"beta", b"transA", b"transB", b"epsilon", b"start",
              b"end", b"num_outputs", b"split", b"pads", b"mode", b"upper", b"ignore_index", b"reduction", b"approximate",
              b"batch_dims", b"allowzero", b"value", b"value_int", b"value_ints", b"k", b"noop_with_empty_axes", b"stash_type"]


class Mutator:
    def __init__(self, data, rng):
        self.rng = rng
        self.model = Message("Model", data)
        self.graph = self.model.get("graph")
        self.log = []

    def pick(self, items):
        return self.rng.choice(items) if items else None

    def get_nodes(self):
        nodes = self.graph.get_all("node")
        for function in self.model.get_all("functions"):
            nodes = nodes + function.get_all("node")
        return nodes

    def get_tensors(self):
        return self.graph.get_all("initializer") + [a.get("t") for n in self.get_nodes() for a in n.get_all("attribute")
                                                    if a.get("t")]

    def get_infos(self):
        return self.graph.get_all("input") + self.graph.get_all("output") + self.graph.get_all("value_info")

    def get_values(self):
        return ([n for node in self.get_nodes() for n in node.get_all("input") + node.get_all("output")]
                + [t.get("name", b"") for t in self.graph.get_all("initializer")])

    def get_list_of(self, message, name):
        return [i for i, field in enumerate(message.fields) if field[0] == name]

    # Each mutation returns what it did, or None where the model has no place for it.
    def node_drop(self):
        at = self.pick(self.get_list_of(self.graph, "node"))
        return at if at is None else f"drop {self.graph.fields.pop(at)[2].get('name')}"

    def node_twice(self):
        at = self.pick(self.get_list_of(self.graph, "node"))
        if at is None:
            return None
        copy = Message("Node", self.graph.fields[at][2].encode())
        if self.rng.random() < 0.5:
            for field in copy.fields:
                if field[0] == "output":
                    field[2] += b"'"
        self.graph.fields.insert(self.rng.choice([at, 0, len(self.graph.fields)]), ["node", "Node", copy])
        return f"twice {copy.get('name')}"

    def node_op(self):
        node = self.pick(self.get_nodes())
        if not node:
            return None
        old, op = node.get("op_type"), self.pick(OPS).encode()
        node.set("op_type", op)
        if self.rng.random() < 0.5:
            node.remove("attribute")
        return f"{old} becomes {op}"

    def node_insert(self):
        """A new node reads what there is and puts its result before one user."""
        node, value = self.pick(self.get_nodes()), self.pick(self.get_values())
        at = self.pick(self.get_list_of(node, "input")) if node else None
        if at is None:
            return None
        new = Message("Node")
        new.append("op_type", self.pick(OPS).encode())
        new.append("name", b"inserted")
        new.append("input", node.fields[at][2])
        for _ in range(self.rng.randrange(3)):
            new.append("input", self.pick(self.get_values()))
        new.append("output", b"inserted_%d" % self.rng.randrange(1000))
        node.fields[at][2] = new.get("output")
        for _ in range(self.rng.randrange(3)):
            self.add_attribute(new)
        self.graph.append("node", new)
        return f"insert {new.get('op_type')} before {node.get('name')} ({value})"

    def node_wrap(self):
        """An operator that fits puts itself between a value and one user, so that later phases see new graphs."""
        node = self.pick(self.get_nodes())
        at = self.pick(self.get_list_of(node, "input")) if node else None
        if at is None:
            return None
        new, old = Message("Node"), node.fields[at][2]
        op = self.pick(["Relu", "Tanh", "Exp", "Neg", "Sigmoid", "Identity", "Abs", "Sqrt", "Erf", "Softplus", "Sin", "Cos", "Gelu",
                        "Log", "Reciprocal", "Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "Softmax", "LogSoftmax", "Sum",
                        "Transpose", "Flatten", "ReduceMean", "ReduceMax", "ReduceSumSquare", "Floor", "Round"])
        new.append("op_type", op.encode())
        new.append("name", b"wrap")
        new.append("input", old)
        if op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "Sum"):
            new.append("input", self.pick([old, old, self.pick(self.get_values())]))
        new.append("output", b"wrap_%d" % self.rng.randrange(10000))
        node.fields[at][2] = new.get("output")
        self.graph.append("node", new)
        return f"{op} before {node.get('name')} on {old}"

    def add_attribute(self, node):
        attribute = Message("Attribute")
        attribute.append("name", self.pick(ATTRIBUTES))
        self.fill_attribute(attribute)
        node.append("attribute", attribute)

    def fill_attribute(self, attribute):
        for name in ("f", "i", "s", "t", "floats", "ints", "type"):
            attribute.remove(name)
        kind = self.pick(["i", "i", "ints", "ints", "f", "s", "floats", "none"])
        if kind == "i":
            attribute.append("i", self.pick(NUMBERS))
            attribute.append("type", 2)
        elif kind == "ints":
            attribute.append("ints", [self.pick(NUMBERS) for _ in range(self.rng.choice([0, 1, 1, 2, 3, 4, 9]))])
            attribute.append("type", 7)
        elif kind == "f":
            attribute.append("f", struct.pack("<f", self.pick(FLOATS)))
            attribute.append("type", 1)
        elif kind == "floats":
            attribute.append("floats", [self.pick(FLOATS) for _ in range(self.rng.randrange(4))])
            attribute.append("type", 6)
        elif kind == "s":
            attribute.append("s", self.pick(NAMES + [b"none", b"sum", b"mean", b"tanh", b"constant"]))
            attribute.append("type", 3)
        return kind

    def input_swap(self):
        node = self.pick(self.get_nodes())
        at = self.pick(self.get_list_of(node, "input")) if node else None
        if at is None:
            return None
        old, node.fields[at][2] = node.fields[at][2], self.pick(self.get_values())
        return f"{node.get('op_type')} {node.get('name')} reads {node.fields[at][2]} for {old}"

    def input_cycle(self):
        node = self.pick(self.graph.get_all("node"))
        at = self.pick(self.get_list_of(node, "input")) if node else None
        if at is None or not node.get("output"):
            return None
        node.fields[at][2] = self.pick(self.get_nodes()).get("output") or node.get("output")
        return f"{node.get('name')} reads {node.fields[at][2]}"

    def arity(self):
        node, name = self.pick(self.get_nodes()), self.pick(["input", "output"])
        if not node:
            return None
        at, how = self.pick(self.get_list_of(node, name)), self.pick(["add", "drop", "empty", "none"])
        if how == "add":
            node.append(name, self.pick(self.get_values()) if name == "input" else b"more%d" % self.rng.randrange(99))
        elif how == "none":
            node.remove(name)
        elif at is not None and how == "drop":
            node.fields.pop(at)
        elif at is not None:
            node.fields[at][2] = b""
        return f"{node.get('op_type')} {node.get('name')}: {how} {name}"

    def attribute(self):
        node = self.pick([n for n in self.get_nodes() if n.get_all("attribute")])
        if not node:
            return None
        attribute, how = self.pick(node.get_all("attribute")), self.pick(["value", "value", "type", "drop", "twice", "name", "ref"])
        what = f"{node.get('op_type')} {node.get('name')}: {attribute.get('name')} {how}"
        if how == "value" and attribute.get("i") is not None:
            attribute.set("i", self.pick(NUMBERS))
        elif how == "value" and attribute.get("ints"):
            ints = attribute.get("ints")
            ints[self.rng.randrange(len(ints))] = self.pick(NUMBERS)
        elif how in ("value", "type"):
            what += " " + self.fill_attribute(attribute)
        elif how == "drop":
            node.fields = [f for f in node.fields if f[2] is not attribute]
        elif how == "twice":
            node.append("attribute", attribute)
        elif how == "name":
            attribute.set("name", self.pick(ATTRIBUTES))
        else:
            attribute.set("ref_attr_name", b"r")
        return what

    def attribute_add(self):
        node = self.pick(self.get_nodes())
        if not node:
            return None
        self.add_attribute(node)
        return f"attribute of {node.get('op_type')} {node.get('name')}"

    def tensor_dims(self):
        tensor = self.pick(self.get_tensors())
        if not tensor:
            return None
        dims = tensor.get_list("dims")
        how = self.pick(["set", "add", "drop", "scalar", "vector", "swap"])
        if how == "set" and dims:
            dims[self.rng.randrange(len(dims))] = self.pick(SIZES)
        elif how == "add":
            dims.insert(self.rng.randrange(len(dims) + 1), self.pick(SIZES + [1] * 10))
        elif how == "drop" and dims:
            dims.pop()
        elif how == "scalar":
            dims[:] = []
        elif how == "vector":
            count = 1
            for dim in dims:
                count *= dim
            dims[:] = [count]
        elif how == "swap":
            dims.reverse()
        return f"dims of {tensor.get('name')}: {how} {dims[:8]}"

    def tensor_type(self):
        tensor = self.pick(self.get_tensors())
        if not tensor:
            return None
        same = {1: [6, 12], 7: [11, 13], 6: [1, 12], 9: [2, 3]}.get(tensor.get("data_type"), [])
        tensor.set("data_type", self.pick(same * 4 + list(range(-1, 26))))
        return f"type of {tensor.get('name')}: {tensor.get('data_type')}"

    def tensor_values(self):
        """Other numbers in an integer tensor: shapes, axes, indices. Cut or longer data in others."""
        tensors = self.get_tensors()
        tensor = self.pick([t for t in tensors if t.get("data_type") == 7 and t.get("raw_data")] or tensors)
        if not tensor:
            return None
        raw = tensor.get("raw_data")
        if raw and tensor.get("data_type") == 7:
            values = list(struct.unpack(f"<{len(raw) // 8}q", raw[:len(raw) // 8 * 8]))
            values[self.rng.randrange(len(values))] = self.pick(NUMBERS)
            tensor.set("raw_data", struct.pack(f"<{len(values)}q", *values))
        elif raw is not None:
            tensor.set("raw_data", self.pick([raw[:-1], raw + b"\0", b"", raw * 2]))
        else:
            tensor.set("int64_data", [self.pick(NUMBERS)])
        return f"values of {tensor.get('name')}"

    def tensor_external(self):
        tensor = self.pick(self.get_tensors())
        if not tensor:
            return None
        tensor.set("data_location", self.pick([1, 1, 1, 0, 2]))
        if self.rng.random() < 0.7:
            tensor.remove("raw_data")
        for key in self.rng.sample([b"location", b"offset", b"length", b"checksum", b"basepath", b"bogus"], 3):
            entry = Message("Entry")
            entry.append("key", key)
            entry.append("value", self.pick([b"", b"model.onnx", b"data.bin", b"../x", b"/etc/passwd", b"0", b"-1", b"8", b"abc",
                                             b"9223372036854775807", b"18446744073709551615", b"a\0b", b"."]))
            tensor.append("external_data", entry)
        return f"external {tensor.get('name')}"

    def info(self):
        info = self.pick(self.get_infos())
        tensor_type = info and info.get("type") and info.get("type").get("tensor_type")
        if not tensor_type:
            return None
        how, shape = self.pick(["dim", "dim", "type", "none", "rank", "name", "symbol", "no type"]), tensor_type.get("shape")
        if how == "dim" and shape and shape.get_all("dim"):
            dim = self.pick(shape.get_all("dim"))
            dim.fields = []
            dim.append("dim_value", self.pick(SIZES))
        elif how == "symbol" and shape and shape.get_all("dim"):
            dim = self.pick(shape.get_all("dim"))
            dim.fields = []
            dim.append("dim_param", self.pick(NAMES + [b"batch", b"seq"]))
        elif how == "type":
            tensor_type.set("elem_type", self.rng.randrange(-1, 26))
        elif how == "none":
            tensor_type.remove("shape")
        elif how == "rank" and shape:
            if self.rng.random() < 0.5 and shape.fields:
                shape.fields.pop()
            else:
                dim = Message("Dim")
                dim.append("dim_value", self.pick(SIZES))
                shape.append("dim", dim)
        elif how == "name":
            info.set("name", self.pick(NAMES + self.get_values()))
        elif how == "no type":
            info.get("type").remove("tensor_type")
        return f"{info.get('name')}: {how}"

    def names(self):
        """One value under another name, wherever it occurs, or in one place."""
        node = self.pick(self.get_nodes())
        if not node:
            return None
        field = self.pick(["name", "output", "input", "op_type", "domain"])
        at, new = self.pick(self.get_list_of(node, field)), self.pick(NAMES)
        if at is None:
            return None
        old, node.fields[at][2] = node.fields[at][2], new
        if field == "output":
            for user in self.get_nodes():
                for part in user.fields:
                    if part[0] == "input" and part[2] == old:
                        part[2] = new
        return f"{field} {old} becomes {new[:20]}"

    def graph_values(self):
        name = self.pick(["input", "output", "initializer", "value_info"])
        at, how = self.pick(self.get_list_of(self.graph, name)), self.pick(["drop", "twice", "unnamed"])
        if at is None:
            return None
        if how == "drop":
            self.graph.fields.pop(at)
        elif how == "twice":
            self.graph.fields.append(self.graph.fields[at])
        else:
            self.graph.fields[at][2].set("name", self.pick(NAMES))
        return f"{how} {name}"

    def header(self):
        opset = self.pick(self.model.get_all("opset_import"))
        if not opset or self.rng.random() < 0.2:
            self.model.set("ir_version", self.pick(NUMBERS + [8, 9, 10]))
            return "ir_version"
        opset.set("version", self.pick(NUMBERS + list(range(7, 25))))
        return f"opset {opset.get('version')}"

    def functions(self):
        """Functions that call themselves, one another, or so often that their bodies outgrow everything."""
        node = self.pick(self.graph.get_all("node"))
        if not node or not node.get("output"):
            return None
        depth, fan = self.rng.choice([(1, 1), (3, 1), (60, 1), (40, 2), (9, 5)])
        cyclic = self.rng.random() < 0.5
        for level in range(depth):
            function = Message("Function")
            function.append("name", b"F%d" % level)
            function.append("domain", b"fuzz")
            function.append("input", b"a")
            function.append("output", b"z")
            opset = Message("Opset")
            opset.append("version", 17)
            function.append("opset_import", opset)
            last = b"a"
            for k in range(fan):
                call = Message("Node")
                isLeaf = level + 1 == depth and not cyclic
                call.append("op_type", b"Identity" if isLeaf else b"F%d" % ((level + 1) % depth))
                call.append("domain", b"" if isLeaf else b"fuzz")
                call.append("input", last)
                last = b"z" if k + 1 == fan else b"t%d" % k
                call.append("output", last)
                function.append("node", call)
            self.model.append("functions", function)
        call = Message("Node")
        for name, value in (("op_type", b"F0"), ("domain", b"fuzz"), ("input", node.get("output")), ("output", b"fuzzed")):
            call.append(name, value)
        self.graph.append("node", call)
        for user in self.graph.get_all("node")[:-1]:
            if user is not node:
                for part in user.fields:
                    if part[0] == "input" and part[2] == node.get("output"):
                        part[2] = b"fuzzed"
        return f"functions {depth} deep, {fan} wide" + (", cyclic" if cyclic else "")

    MUTATIONS = [node_drop, node_twice, node_op, node_op, node_insert, node_insert] + [node_wrap] * 8 + [ input_swap, input_swap,
                 input_cycle, arity, arity, attribute, attribute, attribute_add, attribute_add, tensor_dims, tensor_dims,
                 tensor_type, tensor_values, tensor_values, tensor_external, info, info, names, graph_values, header,
                 functions]

    def run(self):
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3, 5])):
            mutation = self.pick(self.MUTATIONS)
            if what := mutation(self):
                self.log.append(f"{mutation.__name__}: {what}")
        return self.model.encode()


def mutate(data, rng):
    """The mutated bytes, and what was done."""
    if rng.random() < 0.85:
        mutator = Mutator(data, rng)
        return mutator.run(), "; ".join(mutator.log) or "nothing"
    if rng.random() < 0.3:
        size = rng.randrange(len(data))
        return data[:size], f"cut after {size} bytes"
    changed, places = bytearray(data), []
    for _ in range(rng.choice([1, 1, 2, 8])):
        # Weights are most of a model, but its heads are what is read.
        at = rng.randrange(min(len(data), rng.choice([64, 2048, len(data)])))
        changed[at] ^= 1 << rng.randrange(8)
        places.append(at)
    return bytes(changed), f"flipped at {places}"


# -- runs -------------------------------------------------------------------------------------------------------------
LINE = re.compile(r"(error|warning|note): \S")


def find_fault(code, text, printed, seconds, resident):
    """What is wrong with how a run ended, or None."""
    if seconds > SECONDS:
        return f"takes more than {SECONDS} s"
    if resident > RESIDENT:
        return f"takes {resident >> 20} MiB"
    if code < 0:
        return f"dies of signal {-code}"
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError:
        return "prints what is no UTF-8"
    if any(ord(c) < 0x20 and c != "\n" or ord(c) == 0x7f for c in text.decode()):
        return "prints control characters"
    errors = [line for line in lines if line.startswith("error: ")]
    if any("internal error" in line for line in lines):
        return "internal error"
    if [line for line in lines if not LINE.match(line)]:
        return "prints a line that is no error, warning or note"
    if code == 0:
        return "prints errors, but ends with 0" if errors else None
    if code != 1:
        return f"ends with {code}"
    if not errors:
        return "ends with 1 without an error"
    if printed:
        return "prints a module or summary in spite of errors"
    for line, next_line in zip(lines, lines[1:] + [""]):
        if line.startswith("error: ") and not next_line.startswith("note: "):
            return "an error without a note"
    return None


LAYOUTS = ["", "", "--tp 2", "--pp 2", "--dp 2", "--tp 2 --pp 2 --schedule gpipe", "--tp 3", "--pp 3 --recompute full",
           "--optimizer sgd --recompute selective", "--precision bf16", "--precision fp16 --tp 2", "--tp 4 --dp 2"]


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_shardc(command):
    """Exit code, what was printed, seconds, most resident bytes."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, preexec_fn=limit)
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(SECONDS + 1)
        _, status, usage = os.wait4(process.pid, 0)
        signal.alarm(0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read(), output.seek(0, 2) > 0, seconds, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shardc")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--emit", default="exec")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, extra = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    models = [(Path(model).name, Path(model).read_bytes()) for model in arguments.models]
    began, findings, accepted, number = time.monotonic(), 0, 0, arguments.first
    with tempfile.TemporaryDirectory() as folder:
        path, plan = Path(folder) / "model.onnx", Path(folder) / "plan"
        while number < arguments.first + arguments.runs and time.monotonic() - began < arguments.seconds:
            rng = random.Random(f"{arguments.seed}/{number}")
            name, data = models[number % len(models)]
            mutated, what = mutate(data, rng)
            path.write_bytes(mutated)
            layout = rng.choice(LAYOUTS)
            target = ["-o", str(plan)] if arguments.emit == "plan" else [f"--emit={arguments.emit}"]
            code, text, *rest = run_shardc([arguments.shardc, str(path), *target, *extra, *layout.split()])
            accepted += code == 0
            fault = find_fault(code, text, *rest)
            left = sorted(entry.name for entry in Path(folder).iterdir() if entry != path)
            if not fault and code != 0 and left:
                fault = f"leaves {left} behind"
            shutil.rmtree(plan, ignore_errors=True)
            if fault:
                findings += 1
                print(f"run {number} of {name}: {fault}: {layout} {what}\n  " + text.decode(errors="replace")[:600].replace("\n", "\n  "))
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{number}.onnx").write_bytes(mutated)
            number += 1
    print(f"{number - arguments.first} runs, {accepted} accepted, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
