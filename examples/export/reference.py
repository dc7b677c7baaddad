"""What PyTorch computes from the committed weights and batches, in fp32 and with Dropout 0.

For each ONNX file `<model>`, in reference/<model>/:
- gradients.safetensors: of the mean loss over the first 8 samples, by the initializers' names and layouts;
- losses.json: 20 losses with each optimizer, and how much they move when sums are reordered.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import data
import names
import permutations
from fixtures import DROPOUT, EXAMPLES, FIXTURES, Family, Fixture

REFERENCE = EXAMPLES / "reference"
REORDERINGS = 12
OPTIMIZERS = {
    "sgd": {"lr": 0.05, "momentum": 0.9},
    "sgd_plain": {"lr": 0.1, "momentum": 0.0},
    "adamw": {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01},
}


def _optimizer(kind: str, module: torch.nn.Module) -> torch.optim.Optimizer:
    """`weight_decay` applies to parameters of rank >= 2 only, to a tied one once."""
    settings = OPTIMIZERS[kind]
    if kind != "adamw":
        return torch.optim.SGD(module.parameters(), **settings)
    groups = [
        {"params": [p for p in module.parameters() if p.dim() >= 2]},
        {"params": [p for p in module.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, **settings)


def _loss(family: Family, module: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean over all labels of the batch that are not ignored."""
    if family.is_decoder:
        return module(batch["input_ids"], batch["labels"])
    return F.cross_entropy(module(batch["x"]), batch["labels"])


def _batches(arrays: dict[str, np.ndarray], labels: str) -> list[dict[str, torch.Tensor]]:
    used = {name: torch.from_numpy(a) for name, a in arrays.items() if not name.startswith("labels")}
    used["labels"] = torch.from_numpy(arrays[labels])
    size = data.GLOBAL_BATCH
    return [{n: t[i * size : (i + 1) * size] for n, t in used.items()} for i in range(data.STEPS)]


def _train(family: Family, module: torch.nn.Module, kind: str, batches, generator=None) -> list[float]:
    """The loss of each step, before its update; with a `generator`, from reordered units and samples."""
    if generator:
        permutations.permute(module, generator)
    optimizer, losses = _optimizer(kind, module), []
    for batch in batches:
        if generator:
            order = torch.randperm(data.GLOBAL_BATCH, generator=generator)
            batch = {name: tensor[order] for name, tensor in batch.items()}
        optimizer.zero_grad()
        loss = _loss(family, module, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _curve(family: Family, perturbed: bool, kind: str, batches) -> dict:
    """20 losses, with the largest relative difference that reordered sums make to any of them."""
    losses = np.array(_train(family, family.module(0.0, perturbed), kind, batches))
    floor = 0.0
    for seed in range(REORDERINGS):
        generator = torch.Generator().manual_seed(seed)
        others = np.array(_train(family, family.module(0.0, perturbed), kind, batches, generator))
        floor = max(floor, float(np.max(np.abs(others - losses) / np.abs(losses))))
    return {**OPTIMIZERS[kind], "noise_floor": floor, "losses": losses.tolist()}


def _gradients(family: Family, module: torch.nn.Module, batch) -> dict[str, torch.Tensor]:
    _loss(family, module, batch).backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()}


def _twin(fixture: Fixture, folder: Path) -> Path:
    """The perturbed twin of a fixture, committed or not."""
    if fixture.perturbed:
        return fixture.path(perturbed=True)
    path = folder / "twin.onnx"
    fixture.write(fixture.family.module(DROPOUT, True), path)
    return path


def _write_gradients(fixture: Fixture, perturbed: bool, twin: Path, batch) -> None:
    family, path = fixture.family, fixture.path(perturbed)
    sources = names.sources(path, twin, family.module(DROPOUT, True))
    gradients = _gradients(family, family.module(0.0, perturbed), batch)
    folder = REFERENCE / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: source.convert(gradients[source.parameter]) for name, source in sources.items()},
        folder / "gradients.safetensors",
    )


def write_all() -> None:
    """Writes the data and, for every committed model, gradients and losses."""
    data.write(data.tokens(), REFERENCE / "tokens")
    data.write(data.features(), REFERENCE / "features")
    curves = {}
    for fixture in FIXTURES:
        family = fixture.family
        arrays = data.tokens() if family.is_decoder else data.features()
        batches = _batches(arrays, "labels")
        for perturbed in (False, True)[: 1 + fixture.perturbed]:
            with tempfile.TemporaryDirectory() as folder:
                _write_gradients(fixture, perturbed, _twin(fixture, Path(folder)), batches[0])
            key = (family.name, perturbed)
            if key not in curves:
                curves[key] = {kind: _curve(family, perturbed, kind, batches) for kind in OPTIMIZERS}
                if family.is_decoder:
                    curves[key]["sgd_ignored"] = {
                        **_curve(family, perturbed, "sgd", _batches(arrays, "labels_ignored")),
                    }
            path = fixture.path(perturbed)
            facts = {
                "model": str(path.relative_to(EXAMPLES)),
                "data": "reference/tokens" if family.is_decoder else "reference/features",
                "steps": data.STEPS,
                "global_batch": data.GLOBAL_BATCH,
                "dropout": 0.0,
            }
            target = REFERENCE / path.stem / "losses.json"
            target.write_text(json.dumps({**facts, **curves[key]}, indent=1) + "\n")
            print(path.stem, {kind: curve["noise_floor"] for kind, curve in curves[key].items()})
