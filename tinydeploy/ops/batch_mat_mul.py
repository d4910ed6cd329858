"""BatchMatMul: products of matrices, each with its own scale; leading extents broadcast."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding, quantize_multiplier, requantize
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, only, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.blend import is_once
from tinydeploy.ops.float_windows import float_types
from tinydeploy.ops.quantized import activations, distance_from_zero, fits_wide, is_quantized, quant_of


@dataclass(frozen=True, slots=True)
class BatchMatMul(Attrs):
    """[..., M, K] times [..., K, N]; a flag says that the operand is stored with its last axes exchanged."""

    transpose_a: bool = False
    transpose_b: bool = False
    rounding: Rounding = Rounding.TFLITE


def matrices(site: Site[BatchMatMul]) -> tuple[int, int, int]:
    """M, K and N."""
    rows, depth = site.input(0).shape[-2:]
    if site.attrs.transpose_a:
        rows, depth = depth, rows
    return rows, depth, site.input(1).shape[-2 if site.attrs.transpose_b else -1]


def factor_of(site: Site[BatchMatMul]) -> tuple[int, int]:
    """(multiplier, shift) from sums to output steps; TFLite Micro multiplies the scales in float32."""
    if is_once(site):
        scales = (quant_of(site.input(index)).scale for index in range(2))
        return quantize_multiplier(math.prod(scales) / quant_of(site.outputs[0]).scale)
    a, b = (np.float32(quant_of(site.input(index)).scale) for index in range(2))
    with np.errstate(over="ignore", under="ignore"):
        product = min(float(a * b), 3e38)
    return quantize_multiplier(product / quant_of(site.outputs[0]).scale)


def _infer(site: Site[BatchMatMul]) -> tuple[TensorType, ...]:
    rows, _, columns = matrices(site)
    leading = np.broadcast_shapes(site.input(0).shape[:-2], site.input(1).shape[:-2])
    return (TensorType(site.input(0).dtype, (*leading, rows, columns)),)


def _float_reference(site: Site[BatchMatMul], arrays: tuple[Array | None, ...]) -> Array:
    a, b = (operand(arrays, index).astype(np.float64) for index in range(2))
    a = a.swapaxes(-1, -2) if site.attrs.transpose_a else a
    b = b.swapaxes(-1, -2) if site.attrs.transpose_b else b
    with np.errstate(over="ignore"):
        return (a @ b).astype(np.float32)


def _reference(site: Site[BatchMatMul], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (_float_reference(site, arrays),)
    sides = []
    for index, exchanged in enumerate((site.attrs.transpose_a, site.attrs.transpose_b)):
        centred = operand(arrays, index).astype(np.float64) - quant_of(site.input(index)).zero_point
        sides.append(centred.swapaxes(-1, -2) if exchanged else centred)
    # Sums of products of steps stay far below 2**53, so the float64 matrix product is exact.
    total = (sides[0] @ sides[1]).astype(np.int64)
    output = site.outputs[0]
    steps = (
        requantize(total, *factor_of(site), site.attrs.rounding, wide=is_wide(site))
        + quant_of(output).zero_point
    )
    return (np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy),)


def is_wide(site: Site[BatchMatMul]) -> bool:
    """Whether sums are 64 bits wide: int16 data."""
    return site.input(0).dtype is DType.INT16


def peak_of(site: Site[BatchMatMul]) -> int:
    """The largest sum of products."""
    return math.prod(distance_from_zero(site.input(index)) for index in range(2)) * matrices(site)[1]


def _scaled_fits(site: Site[BatchMatMul]) -> bool:
    multiplier, shift = factor_of(site)
    if not is_wide(site):
        return fits_32_bits(255 * 255 * matrices(site)[1], shift)
    return fits_wide(peak_of(site), multiplier, shift)


def _macs(site: Site[BatchMatMul]) -> int:
    return site.outputs[0].elements * matrices(site)[1]


def _shapes_fit(site: Site[BatchMatMul]) -> bool:
    a, b = site.input(0).shape, site.input(1).shape
    if len(a) < 2 or len(b) < 2:
        return False
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return False
    return matrices(site)[1] == b[-1 if site.attrs.transpose_b else -2]


OP = Operator(
    attrs=BatchMatMul,
    roles=("a", "b"),
    doc="products of matrices, leading extents broadcast",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *only(is_quantized, activations(0, 1)),
        *only(is_plain, float_types()),
        Constraint(
            "the inputs are matrices with one inner extent, and leading extents that broadcast",
            _shapes_fit,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "repair the model",
            gate=True,
        ),
        *only(
            is_quantized,
            Constraint(
                "no sum of products, brought to the output's scale, leaves 32 bits",
                _scaled_fits,
                lambda site: (
                    f"{matrices(site)[1]} products, output scale {quant_of(site.outputs[0]).scale:g}"
                ),
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
