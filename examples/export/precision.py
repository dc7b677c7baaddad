"""How far bf16 autocast moves PyTorch's gradients: reference/<model>/autocast_bf16.json.

For each tensor of gradients.safetensors the L2 norm of the difference over that of the fp32 gradient, on the same weights and
batch, with torch.autocast on the CPU: {"samples": 8, "errors": {"initializer": 0.0031, ...}}. A decoder takes the first 8
samples. The classifier takes all 160: its ReLUs flip, and the error of a small batch is that of a few of them.
"""

import json

import torch

import data
import names
import reference
from fixtures import DROPOUT, FIXTURES

MODELS = ["tinygpt", "tinygpt_perturbed", "tinygpt_untied_ts17_perturbed", "mlp_ts17_perturbed"]


def _gradients(family, perturbed, batch, lowers):
    module = family.module(0.0, perturbed)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lowers):
        loss = reference._loss(family, module, batch)
    loss.backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()}


def _write(fixture, perturbed) -> None:
    family, path = fixture.family, fixture.path(perturbed)
    arrays = data.tokens() if family.is_decoder else data.features()
    samples = data.GLOBAL_BATCH if family.is_decoder else data.SAMPLES
    batch = {name: torch.from_numpy(array[:samples]) for name, array in arrays.items()}
    sources = names.sources(path, fixture.path(perturbed=True), family.module(DROPOUT, True))
    exact = _gradients(family, perturbed, batch, lowers=False)
    lowered = _gradients(family, perturbed, batch, lowers=True)

    def error(parameter: str) -> float:
        difference = lowered[parameter].double() - exact[parameter].double()
        return float(difference.norm() / exact[parameter].double().norm())

    errors = {name: error(source.parameter) for name, source in sources.items()}
    target = reference.REFERENCE / path.stem / "autocast_bf16.json"
    target.write_text(json.dumps({"samples": samples, "errors": errors}, indent=1) + "\n")
    print(path.stem, samples, max(errors.values()))


def write_all() -> None:
    for fixture in FIXTURES:
        for perturbed in (False, True)[: 1 + fixture.perturbed]:
            if fixture.path(perturbed).stem in MODELS:
                _write(fixture, perturbed)


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_all()
