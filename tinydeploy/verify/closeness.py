"""When two arrays count as equal: bit for bit where a graph is exact, within a tolerance where it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinydeploy.ir import Array, Graph, TensorType
from tinydeploy.ops.exactness import is_exact

RELATIVE = 1e-5
"""What float results may differ by, relative to the largest magnitude of the tensor."""

_LEAST_MAGNITUDE = 1e-6
_STEPS = 1


@dataclass(frozen=True, slots=True)
class Distance:
    """How far an array is from what was expected.

    ``differs`` marks the elements that count as different. ``relative`` is the largest difference over the
    largest magnitude that was expected, infinite where only one of the two is a number.
    """

    differs: npt.NDArray[np.bool_]
    absolute: float
    relative: float


def tolerance_of(graph: Graph) -> float | None:
    """The relative tolerance of a graph that computes with floats; None where bits are promised."""
    return None if is_exact(graph) else RELATIVE


def distance(expected: Array, got: Array, type_: TensorType, tolerance: float | None) -> Distance:
    """Compare a value with its reference.

    Without ``tolerance`` every element must be equal. With it floats may differ by that share of the largest
    expected magnitude; equal infinities and not-a-numbers are equal; quantized integers, which floats before
    them may have pushed over a rounding boundary, by one step; other integers not at all.
    """
    if expected.dtype.kind != "f":
        steps = np.abs(got.astype(np.int64) - expected.astype(np.int64))
        allowed = _STEPS if tolerance is not None and type_.quant is not None else 0
        most = float(steps.max(initial=0))
        return Distance(steps > allowed, most, most)
    wanted, found = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(wanted) & np.isfinite(found)
    same = (wanted == found) | (np.isnan(wanted) & np.isnan(found))
    gap = np.zeros(wanted.shape)
    np.subtract(found, wanted, out=gap, where=finite)
    gap = np.where(finite | same, np.abs(gap), np.inf)
    scale = max(float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)), _LEAST_MAGNITUDE)
    most = float(gap.max(initial=0.0))
    if tolerance is None:
        differs = expected.view(np.uint32) != np.ascontiguousarray(got).view(np.uint32)
    else:
        differs = gap > tolerance * scale
    return Distance(differs, most, most / scale)
