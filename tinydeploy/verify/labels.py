"""The right answers of a data set: .npy, .npz and .csv files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tinydeploy.errors import TinyDeployError
from tinydeploy.verify.samples import read_arrays

Labels = npt.NDArray[np.float64]
"""[N] or [N, ...]: one entry for each sample."""

NAMES = ("labels", "y", "y_test")
"""What the array of an .npz file may be called where there are several."""


def load_labels(path: Path, count: int) -> Labels:
    """The labels of ``count`` samples.

    A .csv file has one row for each sample: the label, or a name and the label, or MLPerf Tiny's name, number
    of classes, label; or as many numbers as the model has outputs. A first row of words is a heading. Raises
    TinyDeployError that names file and row.
    """
    labels = _from_csv(path) if path.suffix.lower() == ".csv" else _from_arrays(path)
    if len(labels) != count:
        raise TinyDeployError(
            f"{len(labels)} labels for {count} samples", where=str(path), fix="Give one label for each sample"
        )
    if not np.isfinite(labels).all():
        first = int(np.argwhere(~np.isfinite(labels))[0][0])
        raise TinyDeployError(
            f"label {first} is not a finite number", where=str(path), fix="Leave such samples out"
        )
    return labels


def _from_arrays(path: Path) -> Labels:
    arrays = read_arrays(path)
    name = next((name for name in NAMES if name in arrays), None)
    if name is None and len(arrays) != 1:
        raise TinyDeployError(
            f"no array of labels; the file has {', '.join(sorted(arrays)) or 'none'}",
            where=str(path),
            fix=f"Name it {NAMES[0]}",
        )
    array = arrays[name] if name is not None else next(iter(arrays.values()))
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise TinyDeployError(
            f"the labels are {array.dtype}{list(array.shape)}; numbers are allowed, one or a row per sample",
            where=str(path),
            fix="Convert the array",
        )
    return array.astype(np.float64)


def _from_csv(path: Path) -> Labels:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except (OSError, UnicodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TinyDeployError(
            f"cannot read the labels: {reason}", where=str(path), fix="Give a .csv, .npy or .npz file"
        ) from None
    if rows and not any(map(_is_number, rows[0][1])):
        rows = rows[1:]
    values = [_numbers(path, number, row) for number, row in rows]
    widths = {len(value) for value in values}
    if len(widths) > 1:
        raise TinyDeployError(
            f"rows of {' and '.join(map(str, sorted(widths)))} numbers",
            where=str(path),
            fix="Give every sample as many",
        )
    array = np.array(values, np.float64)
    return array[:, 0] if widths == {1} else array


def _numbers(path: Path, number: int, row: list[str]) -> list[float]:
    """The numbers of a row: behind a name the label alone."""
    cells = [cell.strip() for cell in row]
    if not _is_number(cells[0]) and len(cells) > 1:
        cells = cells[2:3] if len(cells) > 2 else cells[1:]
    if not all(map(_is_number, cells)):
        raise TinyDeployError(
            f"row {number} is {','.join(row)[:60]!r}; allowed are numbers, or a name and the label",
            where=str(path),
            fix="Write classes as numbers from 0 on",
        )
    return [float(cell) for cell in cells]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
