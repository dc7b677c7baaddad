"""Prints a GPT's @forward in nn, as the importer makes it: gpt.py LAYERS [--tp N] [--dp N] [--batch N] [--seq N]
[--heads N] [--size N] [--vocab N] [--untied] [--dropout]. Names are GPT-2's."""

import argparse

options = argparse.ArgumentParser()
options.add_argument("layers", type=int)
for name, default in [("tp", 2), ("dp", 1), ("batch", 2), ("seq", 4), ("heads", 4), ("size", 8), ("vocab", 32)]:
    options.add_argument("--" + name, type=int, default=default)
options.add_argument("--untied", action="store_true")
options.add_argument("--dropout", action="store_true")
args = options.parse_args()
B, S, H, V = args.batch, args.seq, args.heads, args.vocab
C, D = args.size, args.size // args.heads

parameters, body, counter = [], [], 0


def tensor(*shape, kind="f32"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"


def parameter(name, *shape):
    value = "%" + name.replace(".", "_")
    parameters.append(f'{value}: {tensor(*shape)} {{nn.parameter = {{name = "{name}", trainable = true, decays = true}}}}')
    return value


def op(text, where=""):
    global counter
    counter += 1
    body.append(f"    %v{counter} = {text}" + (f' loc("{where}")' if where else ""))
    return f"%v{counter}"


def broadcast(x, dims, source, target):
    return op(f"nn.broadcast_in_dim {x} dims {dims} : {source} -> {target}")


def add(a, b, kind):
    return op(f"nn.add {a}, {b} : {kind}")


def scale(x, number, kind):
    return op(f"nn.mul {x}, {op(f'nn.constant dense<{number}> : {kind}')} : {kind}")


def linear(x, name, rows, columns, where):
    w, b = parameter(name + ".weight", rows, columns), parameter(name + ".bias", columns)
    kind = tensor(B, S, columns)
    y = op(f"nn.dot_general {x}, {w} batch [] x [] contract [2] x [0] : ({tensor(B, S, rows)}, {tensor(rows, columns)}) -> {kind}", where)
    return add(y, broadcast(b, [2], tensor(columns), kind), kind)


def norm(x, name, where):
    g, b = parameter(name + ".weight", C), parameter(name + ".bias", C)
    y = op(f"nn.constant dense<0.0> : {tensor(1)}")  # keeps numbering simple
    body.pop()
    body.append(
        f"    {y}, {y}m, {y}r = nn.norm layer, {x} scale {g} bias {b} axis 2 epsilon 1.0e-05 : {tensor(B, S, C)}, "
        f'{tensor(B, S)} scale {tensor(C)} bias {tensor(C)} loc("{where}")')
    return y


randoms = 0


def dropout(x, shape):
    global randoms
    if not args.dropout:
        return x
    randoms += 1
    kind, strides, size = tensor(*shape), [], 1
    for dim in reversed(shape):
        strides.insert(0, size)
        size *= dim
    offset = op("nn.control sample_offset : tensor<i64>")
    base = op(f"nn.mul {offset}, {op(f'nn.constant dense<{strides[0]}> : tensor<i64>')} : tensor<i64>")
    u = op(f"nn.rng_uniform {base} id {randoms} strides {strides} : tensor<i64> -> {kind}")
    keep = op(f"nn.compare ge, {u}, {op(f'nn.constant dense<0.25> : {kind}')} : {kind} -> {tensor(*shape, kind='i1')}")
    zero = op(f"nn.constant dense<0.0> : {kind}")
    kept = op(f"nn.select {keep}, {x}, {zero} : {tensor(*shape, kind='i1')}, {kind}")
    return scale(kept, 1 / 0.75, kind)


def attention(x, layer):
    qkv = linear(x, f"h.{layer}.attn.c_attn", C, 3 * C, f"h.{layer}/attn/c_attn")
    heads, scores = tensor(B, H, S, D), tensor(B, H, S, S)
    q, k, v = (
        op(f"nn.transpose {op(f'nn.reshape {part} : {tensor(B, S, C)} -> {tensor(B, S, H, D)}')} perm [0, 2, 1, 3] : {tensor(B, S, H, D)} -> {heads}")
        for part in (op(f"nn.slice {qkv} [0, 0, {i * C}] to [{B}, {S}, {(i + 1) * C}] by [1, 1, 1] : {tensor(B, S, 3 * C)} -> {tensor(B, S, C)}") for i in range(3)))
    a = op(f"nn.dot_general {q}, {k} batch [0, 1] x [0, 1] contract [3] x [3] : ({heads}, {heads}) -> {scores}", f"h.{layer}/attn/QK")
    a = scale(a, D ** -0.5, scores)
    rows, columns = op(f"nn.iota dim 0 : {tensor(S, S, kind='i64')}"), op(f"nn.iota dim 1 : {tensor(S, S, kind='i64')}")
    mask = op(f"nn.compare ge, {rows}, {columns} : {tensor(S, S, kind='i64')} -> {tensor(S, S, kind='i1')}")
    mask = broadcast(mask, [2, 3], tensor(S, S, kind="i1"), tensor(B, H, S, S, kind="i1"))
    a = op(f"nn.select {mask}, {a}, {op(f'nn.constant dense<-1.0e+10> : {scores}')} : {tensor(B, H, S, S, kind='i1')}, {scores}")
    a = op(f"nn.softmax {a} axis 3 : {scores}", f"h.{layer}/attn/Softmax")
    a = dropout(a, (B, H, S, S))
    y = op(f"nn.dot_general {a}, {v} batch [0, 1] x [0, 1] contract [3] x [2] : ({scores}, {heads}) -> {heads}", f"h.{layer}/attn/AV")
    y = op(f"nn.transpose {y} perm [0, 2, 1, 3] : {heads} -> {tensor(B, S, H, D)}")
    y = op(f"nn.reshape {y} : {tensor(B, S, H, D)} -> {tensor(B, S, C)}")
    return dropout(linear(y, f"h.{layer}.attn.c_proj", C, C, f"h.{layer}/attn/c_proj"), (B, S, C))


def mlp(x, layer):
    kind = tensor(B, S, 4 * C)
    y = linear(x, f"h.{layer}.mlp.c_fc", C, 4 * C, f"h.{layer}/mlp/c_fc")
    e = op(f"nn.erf {scale(y, 0.70710678, kind)} : {kind}")
    e = scale(add(e, op(f"nn.constant dense<1.0> : {kind}"), kind), 0.5, kind)
    y = op(f"nn.mul {y}, {e} : {kind}")
    return dropout(linear(y, f"h.{layer}.mlp.c_proj", 4 * C, C, f"h.{layer}/mlp/c_proj"), (B, S, C))


ids, width = tensor(B, S, kind="i64"), tensor(B, S, C)
wte, wpe = parameter("wte.weight", V, C), parameter("wpe.weight", S, C)
x = op(f"nn.gather {wte}, %ids axis 0 : ({tensor(V, C)}, {ids}) -> {width}", "wte/Gather")
positions = op(f"nn.iota dim 0 : {tensor(S, kind='i64')}")
p = op(f"nn.gather {wpe}, {positions} axis 0 : ({tensor(S, C)}, {tensor(S, kind='i64')}) -> {tensor(S, C)}", "wpe/Gather")
x = dropout(add(x, broadcast(p, [1, 2], tensor(S, C), width), width), (B, S, C))
for layer in range(args.layers):
    x = add(x, attention(norm(x, f"h.{layer}.ln_1", f"h.{layer}/ln_1"), layer), width)
    x = add(x, mlp(norm(x, f"h.{layer}.ln_2", f"h.{layer}/ln_2"), layer), width)
x = norm(x, "ln_f", "ln_f")
head = parameter("lm_head.weight", V, C) if args.untied else wte
logits = op(f"nn.dot_general {x}, {head} batch [] x [] contract [2] x [1] : ({width}, {tensor(V, C)}) -> {tensor(B, S, V)}", "lm_head")
flat, flat_ids = tensor(B * S, V), tensor(B * S, kind="i64")
logits = op(f"nn.reshape {logits} : {tensor(B, S, V)} -> {flat}")
labels = op(f"nn.reshape %labels : {ids} -> {flat_ids}")
loss = op(f"nn.constant dense<0.0> : {tensor(1)}")
body.pop()
rows = tensor(B * S)
body.append(f'    {loss}, {loss}s = nn.cross_entropy {logits}, {labels} ignore -100 : {flat}, {flat_ids} -> {rows} loc("loss")')
total = op(f"nn.reduce sum, {loss} dims [0] : {rows} -> tensor<f32>")
ignored = op(f"nn.constant dense<-100> : {flat_ids}")
counted = op(f"nn.compare ne, {labels}, {ignored} : {flat_ids} -> {tensor(B * S, kind='i1')}")
weights = op(f"nn.convert {counted} : {tensor(B * S, kind='i1')} -> {rows}")
weight = op(f"nn.reduce sum, {weights} dims [0] : {rows} -> tensor<f32>")

inputs = [f'%ids: {ids} {{nn.input = "ids"}}', f'%labels: {ids} {{nn.input = "labels"}}']
print(f"""module attributes {{dist.mesh = #dist.mesh<[<"dp" = {args.dp}>, <"pp" = 1>, <"tp" = {args.tp}>]>,
    nn.inputs = [{{name = "ids", role = "tokens", index_bound = {V} : i64}},
                 {{name = "labels", role = "labels", index_bound = {V} : i64, ignore_value = -100 : i64}}],
    nn.training = {{micro_batch = {B // args.dp} : i64, micro_batches = 4 : i64, global_batch = {4 * B} : i64,
                   optimizer = "adamw", learning_rate = 0.001, momentum = 0.0, beta1 = 0.9, beta2 = 0.999,
                   epsilon = 1.0e-08, weight_decay = 0.01, clip_norm = 0.0, dropout = -1.0}}}} {{
  func.func @forward({', '.join(inputs + parameters)})
      -> (tensor<f32> {{nn.loss = "sum"}}, tensor<f32> {{nn.loss = "weight"}}) {{""")
print("\n".join(body))
print(f"    return {total}, {weight} : tensor<f32>, tensor<f32>\n  }}\n}}")
