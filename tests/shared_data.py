"""The data beside the checkout: where it is, and the readers that several tests need."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MLPERF = SHARED / "mlperf_tiny"

MLPERF_MODELS = {
    "kws": "kws_ref_model",
    "vww": "vww_96_int8",
    "ic": "pretrainedResnet_quant",
    "ad": "ad01_int8",
    "sww": "str_ww_ref_model",
    "ic02": "pretrainedResnet_large_int8",
}

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no data at {SHARED}")


def mlperf_model(bench: str) -> Path:
    """The int8 reference model of a benchmark."""
    return MLPERF / f"{MLPERF_MODELS[bench]}.tflite"


def kws_inputs(count: int) -> npt.NDArray[np.int8]:
    """The first official keyword inputs, [count, 1, 49, 10, 1]."""
    paths = sorted((MLPERF / "datasets" / "kws01").glob("*.bin"))[:count]
    return np.stack([np.fromfile(path, np.int8).reshape(1, 49, 10, 1) for path in paths])


def kws_labels() -> dict[str, int]:
    """File name of a keyword input to its class."""
    with (MLPERF / "datasets" / "kws01" / "y_labels.csv").open() as file:
        return {row[0].strip(): int(row[2]) for row in csv.reader(file) if len(row) >= 3}


def kws_names() -> list[str]:
    """Names of the keyword inputs, in the order of ``kws_inputs``."""
    return [path.name for path in sorted((MLPERF / "datasets" / "kws01").glob("*.bin"))]


def cifar_inputs(count: int) -> npt.NDArray[np.int8]:
    """Test images minus 128, [count, 1, 32, 32, 3]."""
    with np.load(SHARED / "cifar10" / "cifar10_jpeg.npz") as archive:
        images: npt.NDArray[np.uint8] = archive["x_test"][:count]
    return (images.astype(np.int16) - 128).astype(np.int8)[:, None]


def ad_windows(count: int) -> npt.NDArray[np.float32]:
    """Windows of the anomaly sample: 640 floats each, 128 floats apart, [count, 640]."""
    (path,) = (MLPERF / "datasets" / "ad01").glob("*.bin")
    sample = np.fromfile(path, "<f4")
    return np.stack([sample[128 * index : 128 * index + 640] for index in range(count)])
