"""The batches of the references: 160 samples, that is 20 steps with a global batch of 8, in file order."""

from pathlib import Path

import numpy as np

import mlp
import tinygpt

STEPS = 20
GLOBAL_BATCH = 8
SAMPLES = STEPS * GLOBAL_BATCH
WORDS = (
    "the rank sends its stage a slot and each plan places every buffer before one step runs so that no graph "
    "is left when two micro batches meet while gradients wait for their sum over all replicas"
).split()


def _text(length: int, rng: np.random.Generator) -> np.ndarray:
    """`length` bytes of sentences made of WORDS."""
    text = b""
    while len(text) < length:
        sentence = " ".join(rng.choice(WORDS, size=rng.integers(4, 10)))
        text += f"{sentence.capitalize()}.\n".encode()
    return np.frombuffer(text[:length], dtype=np.uint8).astype(np.int64)


def tokens() -> dict[str, np.ndarray]:
    """input_ids and labels [160, 64]; `labels_ignored` ignores another number of labels in each sample of a batch.

    Sample k of a batch ignores its first 7k labels, sample 5 all of them.
    """
    rng = np.random.default_rng(1)
    text = _text(SAMPLES * tinygpt.SEQUENCE + 1, rng)
    labels = text[1:].reshape(SAMPLES, tinygpt.SEQUENCE)
    ignored = labels.copy()
    for sample in range(SAMPLES):
        place = sample % GLOBAL_BATCH
        ignored[sample, : tinygpt.SEQUENCE if place == 5 else 7 * place] = tinygpt.IGNORED
    return {
        "input_ids": text[:-1].reshape(SAMPLES, tinygpt.SEQUENCE),
        "labels": labels,
        "labels_ignored": ignored,
    }


def features() -> dict[str, np.ndarray]:
    """x [160, 32] float and labels [160] int64, the classes of a random linear teacher."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((SAMPLES, mlp.INPUTS)).astype(np.float32)
    return {"x": x, "labels": np.argmax(x @ rng.standard_normal((mlp.INPUTS, mlp.CLASSES)), axis=1)}


def write(arrays: dict[str, np.ndarray], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
