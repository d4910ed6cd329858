"""Images for a model's input: resizing and normalisation in integers, the references of ``td_image.h``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinydeploy.fixed_point import Int64
from tinydeploy.resources import runtime_dir

UInt8 = npt.NDArray[np.uint8]


def resize(image: UInt8, height: int, width: int) -> UInt8:
    """Bilinear, pixel centres at halves, edges repeated: [H, W, C] to [height, width, C].

    Places have 16 fractional bits, weights 8; a result is within one step of the real interpolation.
    """
    rows, row_weights = _places(image.shape[0], height)
    columns, column_weights = _places(image.shape[1], width)
    below = np.minimum(rows + 1, image.shape[0] - 1)
    right = np.minimum(columns + 1, image.shape[1] - 1)
    wide = image.astype(np.int64)
    x = column_weights[None, :, None]
    y = row_weights[:, None, None]
    upper = wide[rows][:, columns] * (256 - x) + wide[rows][:, right] * x
    lower = wide[below][:, columns] * (256 - x) + wide[below][:, right] * x
    return np.asarray((upper * (256 - y) + lower * y + (1 << 15)) >> 16, np.uint8)


def _places(source: int, target: int) -> tuple[Int64, Int64]:
    """(first pixel, weight of the next in 256ths) for each pixel of the result."""
    centres = ((2 * np.arange(target, dtype=np.int64) + 1) * source << 15) // target - (1 << 15)
    places = np.clip(centres, 0, (source - 1) << 16)
    return np.asarray(places >> 16, np.int64), np.asarray(places >> 8 & 0xFF, np.int64)


def normalization_tables(
    mean: Sequence[float], std: Sequence[float], scale: float, zero_point: int
) -> npt.NDArray[np.int8]:
    """For each channel the input step of every pixel value: ``(value - mean) / std``, quantized; [C, 256]."""
    values = (np.arange(256)[None, :] - np.array(mean)[:, None]) / np.array(std)[:, None]
    steps = np.floor(values / scale + 0.5) + zero_point
    return np.asarray(np.clip(steps, -128, 127), np.int8)


def normalize(image: UInt8, tables: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Every pixel of [H, W, C] through the table of its channel."""
    return np.stack([tables[channel][image[..., channel]] for channel in range(len(tables))], axis=-1)


def c_sources() -> tuple[Path, ...]:
    """``td_image.h`` and ``td_image.c``."""
    return tuple(sorted((runtime_dir() / "features").glob("td_image.[ch]")))
