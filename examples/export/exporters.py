"""The two exporters of PyTorch, called as a user who wants to train would call them."""

import warnings
from pathlib import Path

import onnx
import torch

TRAINING = torch.onnx.TrainingMode.TRAINING


def by_torchscript(model, inputs, path: Path, output: str, fold: bool) -> None:
    """TorchScript exporter, opset 17, dynamic `batch`.

    Without `fold` (what PyTorch recommends for training) every parameter keeps its name and a tie stays a
    tie; with it a linear weight is transposed and renamed (`onnx::MatMul_570`), a tied one becomes a copy.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.train(), tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
            training=TRAINING, do_constant_folding=fold,
            input_names=list(inputs), output_names=[output],
            dynamic_axes={name: {0: "batch"} for name in [*inputs, *([] if output == "loss" else [output])]},
        )


def by_dynamo(model, inputs, path: Path, output: str, opset: int, external_data: bool) -> None:
    """Dynamo exporter, dynamic `batch`; with `external_data` the weights lie in `<path>.data`.

    The inputs must be different tensors: equal ones are traced as one input.
    """
    batch = torch.export.Dim("batch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.train(), tuple(inputs.values()), str(path), dynamo=True, opset_version=opset,
            training=TRAINING, verbose=False, external_data=external_data,
            input_names=list(inputs), output_names=[output],
            dynamic_shapes=tuple({0: batch} for _ in inputs),
        )
    _drop_stack_traces(path)


def _drop_stack_traces(path: Path) -> None:
    """Removes the Python stack traces, which hold the paths of the exporting machine."""
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    path.write_bytes(model.SerializeToString(deterministic=True))
