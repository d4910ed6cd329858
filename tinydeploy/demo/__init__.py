"""The demo model: a small convolutional network for 8x8 digits, with its test images and its card.

``tinydeploy/demo/train.py`` makes all three files; nothing heavier than numpy is needed to use them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

MODEL_FILE = "digits.tflite"
CARD_FILE = "digits.json"
SAMPLES_FILE = "digits_samples.npz"

_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class DemoCard:
    """What is known about the demo model; accuracies are fractions of ``test_images``.

    ``accuracy_int8`` is that of the stored file under exact integer arithmetic, ``accuracy_float`` that of
    the trained network before quantization.
    """

    name: str
    task: str
    sha256: str
    model_bytes: int
    macs: int
    parameters: int
    accuracy_float: float
    accuracy_int8: float
    test_images: int
    train_images: int
    epochs: int
    seed: int
    split: str
    provenance: str
    data: str
    data_licence: str
    versions: dict[str, str]


def model_path() -> Path:
    """The int8 ``.tflite`` file."""
    return _FOLDER / MODEL_FILE


def samples() -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64]]:
    """The held-out test images as the model's int8 inputs [N, 8, 8, 1], and their digits [N]."""
    return read_samples(_FOLDER / SAMPLES_FILE)


def card() -> DemoCard:
    """Accuracy, size and origin of the demo model."""
    return read_card(_FOLDER / CARD_FILE)


def read_samples(path: Path) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64]]:
    """Inputs and labels of a samples file, in the order and with the types of ``samples``."""
    with np.load(path, allow_pickle=False) as file:
        return file["in0"].astype(np.int8), file["labels"].astype(np.int64)


def read_card(path: Path) -> DemoCard:
    """The card in a JSON file; keys that this version does not know are left out."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return DemoCard(**{field.name: content[field.name] for field in fields(DemoCard)})


__all__ = ["DemoCard", "card", "model_path", "samples"]
