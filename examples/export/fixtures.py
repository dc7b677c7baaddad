"""The list of committed models: which module, which exporter, which file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch

import exporters
import functions_mlp
import mlp
import tinygpt
import weights

EXAMPLES = Path(__file__).resolve().parent.parent
DROPOUT = 0.1


@dataclass(frozen=True)
class Family:
    """Models of equal mathematics and weights, whatever their exporter."""

    name: str
    build: Callable[[float], torch.nn.Module]  # dropout -> module
    layers: int | None  # of a decoder, see weights.initialise
    seed: int

    def module(self, dropout: float, perturbed: bool) -> torch.nn.Module:
        module = self.build(dropout)
        weights.initialise(module, self.seed, self.layers)
        if perturbed:
            weights.perturb(module, self.seed + 1)
        return module

    @property
    def is_decoder(self) -> bool:
        return self.layers is not None


TIED = Family("tinygpt", lambda p: tinygpt.TinyGpt(True, p), tinygpt.LAYERS, 10)
UNTIED = Family("tinygpt_untied", lambda p: tinygpt.TinyGpt(False, p), tinygpt.LAYERS, 20)
MLP = Family("mlp", mlp.Mlp, None, 30)
FUNCTIONS = Family("functions_mlp", lambda p: functions_mlp.FunctionsMlp(), None, 40)


@dataclass(frozen=True)
class Fixture:
    """One exported model; `perturbed` says whether its perturbed twin is committed too."""

    file: str  # below examples/
    family: Family
    write: Callable[[torch.nn.Module, Path], None]
    perturbed: bool

    def path(self, perturbed: bool = False) -> Path:
        """The perturbed twin of any model lies in models/."""
        path = EXAMPLES / self.file
        return EXAMPLES / "models" / f"{path.stem}_perturbed.onnx" if perturbed else path


def _tokens() -> dict[str, torch.Tensor]:
    shape = (4, tinygpt.SEQUENCE)
    return {"input_ids": torch.zeros(shape, dtype=torch.long), "labels": torch.ones(shape, dtype=torch.long)}


def _features() -> dict[str, torch.Tensor]:
    return {"x": torch.zeros(4, mlp.INPUTS)}


FIXTURES = [
    Fixture("tinygpt.onnx", TIED,
            lambda m, p: exporters.by_torchscript(m, _tokens(), p, "loss", fold=False), True),
    Fixture("models/tinygpt_untied_ts17.onnx", UNTIED,
            lambda m, p: exporters.by_torchscript(m, _tokens(), p, "loss", fold=True), True),
    Fixture("models/tinygpt_tied_dynamo18.onnx", TIED,
            lambda m, p: exporters.by_dynamo(m, _tokens(), p, "loss", 18, external_data=False), False),
    Fixture("models/tinygpt_untied_dynamo20.onnx", UNTIED,
            lambda m, p: exporters.by_dynamo(m, _tokens(), p, "loss", 20, external_data=True), False),
    Fixture("models/mlp_ts17.onnx", MLP,
            lambda m, p: exporters.by_torchscript(m, _features(), p, "logits", fold=False), True),
    Fixture("models/mlp_dynamo18.onnx", MLP,
            lambda m, p: exporters.by_dynamo(m, _features(), p, "logits", 18, external_data=False), True),
    Fixture("models/functions_mlp.onnx", FUNCTIONS, functions_mlp.export, True),
]
