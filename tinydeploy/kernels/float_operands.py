"""What the float32 schedules share: operands read where they lie, clamps, blocks of outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.kernels.base import Access
from tinydeploy.ops import AnySite
from tinydeploy.ops.quantized import Activation

FLOAT_BYTES = 4

BLOCK = 4
"""Outputs that a block computes side by side, so that each element is loaded once for all of them."""


@dataclass(frozen=True, slots=True)
class Clamp:
    """A fused activation: bounds, or None where there is none."""

    low: float | None
    high: float | None


def clamp_of(activation: Activation) -> Clamp:
    low, high = activation.bounds
    return Clamp(low if math.isfinite(low) else None, high if math.isfinite(high) else None)


def whole_operand(site: AnySite, index: int) -> Access:
    """An input of which every call reads all: weights and bias, constant or not."""
    return Access(1, site.input(index).bytes, stride=0)


def weights_and_bias(site: AnySite) -> tuple[tuple[int, ...], tuple[Access, ...]]:
    """Operands 1 and, where there is one, 2, with their accesses."""
    operands = (1, 2) if site.has(2) else (1,)
    return operands, tuple(whole_operand(site, index) for index in operands)
