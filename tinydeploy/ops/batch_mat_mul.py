"""BatchMatMul: products of matrices, each with its own scale; leading extents broadcast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, operand
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.quantized import int8_activations, quant_of


@dataclass(frozen=True, slots=True)
class BatchMatMul(Attrs):
    """[..., M, K] times [..., K, N]; a flag says that the operand is stored with its last axes exchanged."""

    transpose_a: bool = False
    transpose_b: bool = False


def matrices(site: Site[BatchMatMul]) -> tuple[int, int, int]:
    """M, K and N."""
    rows, depth = site.input(0).shape[-2:]
    if site.attrs.transpose_a:
        rows, depth = depth, rows
    return rows, depth, site.input(1).shape[-2 if site.attrs.transpose_b else -1]


def factor_of(site: Site[BatchMatMul]) -> tuple[int, int]:
    """(multiplier, shift) from sums to output steps; TFLite Micro multiplies the scales in float32."""
    a, b = (np.float32(quant_of(site.input(index)).scale) for index in range(2))
    with np.errstate(over="ignore", under="ignore"):
        product = min(float(a * b), 3e38)
    return quantize_multiplier(product / quant_of(site.outputs[0]).scale)


def _infer(site: Site[BatchMatMul]) -> tuple[TensorType, ...]:
    rows, _, columns = matrices(site)
    leading = np.broadcast_shapes(site.input(0).shape[:-2], site.input(1).shape[:-2])
    return (TensorType(site.input(0).dtype, (*leading, rows, columns)),)


def _reference(site: Site[BatchMatMul], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    sides = []
    for index, exchanged in enumerate((site.attrs.transpose_a, site.attrs.transpose_b)):
        centred = operand(arrays, index).astype(np.float64) - quant_of(site.input(index)).zero_point
        sides.append(centred.swapaxes(-1, -2) if exchanged else centred)
    # Sums of int8 products stay far below 2**53, so the float64 matrix product is exact.
    total = (sides[0] @ sides[1]).astype(np.int64)
    output = site.outputs[0]
    steps = multiply_by_quantized_multiplier(total, *factor_of(site)) + quant_of(output).zero_point
    return (np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy),)


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
        int8_activations(0, 1),
        Constraint(
            "the inputs are matrices with one inner extent, and leading extents that broadcast",
            _shapes_fit,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            "no sum of products, brought to the output's scale, leaves 32 bits",
            lambda site: fits_32_bits(255 * 255 * matrices(site)[1], factor_of(site)[1]),
            lambda site: f"{matrices(site)[1]} products, output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
