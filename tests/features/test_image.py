"""Resizing and normalising images: the C has the reference's bits, which are a step from real numbers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tinydeploy.features import image
from tinydeploy.toolchain import HOST, select

HERE = Path(__file__).parent
SIZES = [(5, 7, 3, 9, 4), (96, 96, 1, 32, 32), (1, 1, 3, 4, 5), (240, 320, 3, 96, 96), (3, 200, 2, 3, 200)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    sources = [path for path in image.c_sources() if path.suffix == ".c"] + [HERE / "image_process.c"]
    toolchain = select("gcc", HOST, sanitize=True)
    includes = [image.c_sources()[0].parent]
    objects = toolchain.compile(sources, include_dirs=includes, out_dir=folder, optimize="-O1")
    return toolchain.link_host(objects, folder / "image")


def drawn(height: int, width: int, channels: int) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, channels), np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_the_c_has_the_same_bits(program: Path, size: tuple[int, ...]) -> None:
    height, width, channels, to_height, to_width = size
    pixels = drawn(height, width, channels)
    tables = image.normalization_tables([120.0] * channels, [60.0] * channels, 0.02, -3)
    done = subprocess.run(
        [program, *map(str, size)],
        input=tables.tobytes() + pixels.tobytes(),
        capture_output=True,
        check=True,
        timeout=30,
    )
    resized = image.resize(pixels, to_height, to_width)
    assert done.stdout == resized.tobytes() + image.normalize(resized, tables).tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_a_pixel_is_within_a_step_of_the_real_interpolation(size: tuple[int, ...]) -> None:
    height, width, channels, to_height, to_width = size
    pixels = drawn(height, width, channels)
    rows = np.clip((np.arange(to_height) + 0.5) * height / to_height - 0.5, 0, height - 1)
    columns = np.clip((np.arange(to_width) + 0.5) * width / to_width - 0.5, 0, width - 1)
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    y, x = (rows - top)[:, None, None], (columns - left)[None, :, None]
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    real = (1 - y) * ((1 - x) * pixels[top][:, left] + x * pixels[top][:, right]) + y * (
        (1 - x) * pixels[bottom][:, left] + x * pixels[bottom][:, right]
    )
    found = image.resize(pixels, to_height, to_width)
    assert np.abs(found - real).max() < 2.5  # half a step of rounding, and weights of 8 bits
    assert np.abs(found - real).mean() < 0.6


def test_an_image_of_its_own_size_stays() -> None:
    pixels = drawn(8, 9, 3)
    assert np.array_equal(image.resize(pixels, 8, 9), pixels)


def test_normalisation_is_the_quantizer_of_the_input() -> None:
    tables = image.normalization_tables([127.5], [127.5], 1 / 128, 0)
    assert tables[0, 0] == -128
    assert tables[0, 255] == 127
    assert tables[0, 128] == 1
