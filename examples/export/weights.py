"""The two points in weight space at which every model is exported and differentiated."""

import math

import torch
import torch.nn as nn


@torch.no_grad()
def initialise(model: nn.Module, seed: int, layers: int | None = None) -> None:
    """Standard initialisation, of two kinds:

    - with `layers` (a GPT-2-style decoder): gamma = 1, biases 0, weights normal(0, 0.02), those which end a
      residual branch (named `*.proj.weight`) divided by sqrt(2 * layers);
    - without (a classifier): weights as He et al., biases uniform in +-0.1. Not 0: the dynamo exporter drops
      the bias of a Gemm when it is all zero, so an untrained model would lose parameters.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2:
            std = 0.02 if layers else math.sqrt(2.0 / parameter.shape[1])
            if layers and name.endswith("proj.weight"):
                std /= math.sqrt(2 * layers)
            parameter.normal_(0.0, std, generator=generator)
        elif not layers:
            parameter.uniform_(-0.1, 0.1, generator=generator)
        else:
            parameter.fill_(1.0 if "ln_" in name and name.endswith("weight") else 0.0)


@torch.no_grad()
def perturb(model: nn.Module, seed: int) -> None:
    """Moves every parameter, so that gamma != 1 and biases != 0 and no two tensors are equal."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        noise = torch.empty_like(parameter).normal_(generator=generator)
        parameter.add_(noise, alpha=0.02 if parameter.dim() > 1 else 0.2)
