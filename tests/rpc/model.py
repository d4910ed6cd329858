"""What device/fake_model.c computes, said once more."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROWS, ROW_BYTES, BAND_BYTES = 2, 150, 15


def draw_inputs(random: np.random.Generator) -> tuple[Array, Array]:
    """An image and three words."""
    image = random.integers(-128, 128, (ROWS, ROW_BYTES), dtype=np.int8)
    return image, random.integers(-1000, 1000, 3, dtype=np.int16)


def expected_outputs(inputs: tuple[Array, Array], counter: int) -> tuple[Array, Array]:
    """What the run after `counter` others since the reset must give."""
    image, words = inputs
    out = (image.view(np.uint8) + np.uint8(counter % 256)).view(np.int8)
    return out, np.array([words.sum(dtype=np.int64) + counter], np.int32)


def expected_rows(inputs: tuple[Array, Array], counter: int) -> dict[int, list[bytes]]:
    """The rows that each kernel instance writes."""
    out, total = expected_outputs(inputs, counter)
    flipped = out.view(np.uint8) ^ np.uint8(0x55)
    bands = out.reshape(-1, BAND_BYTES)
    return {
        0: [row.tobytes() for row in out],
        1: [row.tobytes() for row in flipped],
        2: [band.tobytes() for band in bands],
        3: [total.tobytes()],
    }
