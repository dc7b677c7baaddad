"""Rewritings of a model that change nothing but the order of its sums: what the noise floor is measured with.

Each permutes hidden units, that is rows of one weight together with columns of the next.
"""

import torch

import functions_mlp
import mlp
import tinygpt


@torch.no_grad()
def permute(module: torch.nn.Module, generator: torch.Generator) -> None:
    """Permutes the hidden units of `module` in place; its function stays the same."""
    if isinstance(module, tinygpt.TinyGpt):
        _permute_decoder(module, generator)
    elif isinstance(module, mlp.Mlp):
        for a, b in zip(module.layers, module.layers[1:]):
            order = torch.randperm(a.out_features, generator=generator)
            _reorder(a.weight, 0, order)
            _reorder(a.bias, 0, order)
            _reorder(b.weight, 1, order)
    else:
        for i in range(len(functions_mlp.SCALES) - 1):
            bias = getattr(module, f"b{i}")
            order = torch.randperm(len(bias), generator=generator)
            _reorder(bias, 0, order)
            _reorder(getattr(module, f"w{i}"), 0 if functions_mlp.TRANSPOSED[i] else 1, order)
            _reorder(getattr(module, f"w{i + 1}"), 1 if functions_mlp.TRANSPOSED[i + 1] else 0, order)


def _reorder(parameter: torch.Tensor, dim: int, order: torch.Tensor) -> None:
    parameter.copy_(parameter.index_select(dim, order))


def _head_order(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Orders of the query/key and of the value units: one order of heads, any order inside each."""
    size = tinygpt.WIDTH // tinygpt.HEADS
    heads = torch.randperm(tinygpt.HEADS, generator=generator)
    return tuple(
        torch.cat([head * size + torch.randperm(size, generator=generator) for head in heads]) for _ in range(2)
    )


def _permute_decoder(module: tinygpt.TinyGpt, generator: torch.Generator) -> None:
    channels = torch.randperm(tinygpt.WIDTH, generator=generator)
    tables = {module.wte.weight, module.wpe.weight, module.lm_head.weight}  # a set: the tied one only once
    for table in tables:
        _reorder(table, 1, channels)
    for norm in [n for block in module.h for n in (block.ln_1, block.ln_2)] + [module.ln_f]:
        _reorder(norm.weight, 0, channels)
        _reorder(norm.bias, 0, channels)
    for block in module.h:
        query, value = _head_order(generator)
        fused = torch.cat([query, query + tinygpt.WIDTH, value + 2 * tinygpt.WIDTH])
        hidden = torch.randperm(4 * tinygpt.WIDTH, generator=generator)
        for first, second, order in ((block.attn.qkv, block.attn.proj, fused), (block.mlp.fc, block.mlp.proj, hidden)):
            _reorder(first.weight, 1, channels)
            _reorder(first.weight, 0, order)
            _reorder(first.bias, 0, order)
            _reorder(second.weight, 1, value if order is fused else order)
            _reorder(second.weight, 0, channels)
            _reorder(second.bias, 0, channels)
