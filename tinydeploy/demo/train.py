"""Makes the demo model: trains it, quantizes it, measures it and writes the three files of this folder.

    python -m tinydeploy.demo.train            write digits.tflite, digits.json and digits_samples.npz
    python -m tinydeploy.demo.train --check    make them again and compare with the stored ones

Needs what the tests need (scikit-learn for the images, ai-edge-litert for the file format).
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tinydeploy.demo import CARD_FILE, MODEL_FILE, SAMPLES_FILE, DemoCard, read_card, read_samples
from tinydeploy.demo.convert import convert, input_steps, int8_accuracy, macs_of
from tinydeploy.demo.layers import Floats
from tinydeploy.demo.network import Labels, Network, accuracy, shuffled, train
from tinydeploy.demo.tflite_file import to_tflite

SEED = 20261
EPOCHS = 40
RATE = 0.006
TEST_IMAGES = 360
BRIGHTEST = 16.0

TASK = "the digit, 0 to 9, on an 8x8 grey image"
SPLIT = (
    "360 of the 1797 images, drawn at random with the seed, are held out; width and length of training were "
    "chosen on a part of the others. A writer may have images on both sides"
)
PROVENANCE = (
    "trained from random weights by tinydeploy/demo/train.py (numpy; Adam); "
    "int8 by tinydeploy's own quantizer: robust ranges over the training images, "
    "symmetric weights, per channel in convolutions"
)
DATA = (
    "scikit-learn load_digits: the test part of E. Alpaydin and C. Kaynak, "
    "Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49"
)
DATA_LICENCE = (
    "CC BY 4.0 (UCI Machine Learning Repository); digits_samples.npz holds 360 of the images, rescaled"
)


@dataclass(frozen=True, slots=True)
class Digits:
    """Images [N, 8, 8, 1] from 0 to 1 and their labels, split by seed."""

    train_images: Floats
    train_labels: Labels
    test_images: Floats
    test_labels: Labels


def load_digits(seed: int, test_images: int = TEST_IMAGES) -> Digits:
    """scikit-learn's digits, of which ``test_images`` random ones are held out."""
    from sklearn import datasets  # type: ignore[import-untyped]

    data, labels = datasets.load_digits(return_X_y=True)
    images = (data / BRIGHTEST).reshape(-1, 8, 8, 1)
    order = shuffled(len(images), np.random.Generator(np.random.PCG64(seed)))
    test, rest = order[:test_images], order[test_images:]
    return Digits(images[rest], labels[rest].astype(np.int64), images[test], labels[test].astype(np.int64))


def make(digits: Digits, folder: Path, *, epochs: int = EPOCHS, seed: int = SEED) -> DemoCard:
    """Train on the digits and write model, samples and card into a folder that exists."""
    network = Network(seed)
    train(network, digits.train_images, digits.train_labels, epochs=epochs, seed=seed, rate=RATE)
    graph = convert(network, digits.train_images, "digits")
    model = to_tflite(graph, "tinydeploy demo: handwritten digits, int8")
    inputs = input_steps(graph, digits.test_images)
    card = DemoCard(
        name="digits",
        task=TASK,
        sha256=hashlib.sha256(model).hexdigest(),
        model_bytes=len(model),
        macs=macs_of(graph),
        parameters=sum(parameter.size for parameter in network.parameters()),
        accuracy_float=accuracy(network, digits.test_images, digits.test_labels),
        accuracy_int8=int8_accuracy(graph, inputs, digits.test_labels),
        test_images=len(digits.test_images),
        train_images=len(digits.train_images),
        epochs=epochs,
        seed=seed,
        split=SPLIT,
        provenance=PROVENANCE,
        data=DATA,
        data_licence=DATA_LICENCE,
        versions={name: version(name) for name in ("numpy", "scikit-learn", "ai-edge-litert", "flatbuffers")},
    )
    (folder / MODEL_FILE).write_bytes(model)
    labels = digits.test_labels.astype(np.int8)
    np.savez_compressed(folder / SAMPLES_FILE, allow_pickle=False, in0=inputs, labels=labels)
    text = json.dumps(dataclasses.asdict(card), indent=2, ensure_ascii=False)
    (folder / CARD_FILE).write_text(text + "\n", encoding="utf-8")
    return card


def differences(made: Path, stored: Path) -> list[str]:
    """What differs between two folders of demo files, one line each; versions may differ.

    Samples are compared by content, since compressed bytes depend on zlib.
    """
    lines = []
    if (made / MODEL_FILE).read_bytes() != (stored / MODEL_FILE).read_bytes():
        lines.append(f"{MODEL_FILE}: the bytes differ")
    (new_inputs, new_labels), (inputs, labels) = (
        read_samples(folder / SAMPLES_FILE) for folder in (made, stored)
    )
    if not (np.array_equal(new_inputs, inputs) and np.array_equal(new_labels, labels)):
        lines.append(f"{SAMPLES_FILE}: the arrays differ")
    new_card, old_card = (dataclasses.asdict(read_card(folder / CARD_FILE)) for folder in (made, stored))
    for key, old in old_card.items():
        if key != "versions" and new_card[key] != old:
            lines.append(f"{CARD_FILE}: {key} is {new_card[key]!r}, stored {old!r}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 when done or equal, 3 when ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(
        prog="python -m tinydeploy.demo.train", description="make the demo model"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder (default: the package's)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the files in --out")
    parser.add_argument("--quick", action="store_true", help="one epoch only, to see that it runs")
    options = parser.parse_args(arguments)
    epochs = 1 if options.quick else EPOCHS
    digits = load_digits(SEED)
    if not options.check:
        card = make(digits, options.out, epochs=epochs)
        print(f"{options.out / MODEL_FILE}: {_summary(card)}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        card = make(digits, Path(folder), epochs=epochs)
        lines = differences(Path(folder), options.out)
    if lines:
        stored = read_card(options.out / CARD_FILE).versions
        print(
            "\n".join([f"not reproduced in {options.out}:", *lines, f"here {card.versions}, stored {stored}"])
        )
        return 3
    print(f"reproduced, byte for byte: {_summary(card)}")
    return 0


def _summary(card: DemoCard) -> str:
    return (
        f"{card.model_bytes} bytes, {card.macs} MACs, {card.test_images} test images: "
        f"float {card.accuracy_float:.2%}, int8 {card.accuracy_int8:.2%}"
    )


if __name__ == "__main__":
    sys.exit(main())
