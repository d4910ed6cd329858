"""What the elementwise operators of two operands share: broadcasting, reference, limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinydeploy.fixed_point import INT32_MAX
from tinydeploy.ir import Array, DType, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, only, operand
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.formula import Formula, evaluate
from tinydeploy.ops.plain import NUMBERS, plain_types
from tinydeploy.ops.quantized import activations, wide_zero_points

FormulaOf = Callable[[AnySite], Formula]
Reference = Callable[[AnySite, tuple[Array | None, ...]], tuple[Array, ...]]


def broadcast_infer(site: AnySite) -> tuple[TensorType, ...]:
    """Extents of 1 and absent leading extents repeat, as in numpy."""
    shape = np.broadcast_shapes(site.input(0).shape, site.input(1).shape)
    return (TensorType(site.input(0).dtype, shape),)


def reference_of(formula_of: FormulaOf) -> Reference:
    """The reference that evaluates an operator's formula."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        output = site.outputs[0]
        steps = evaluate(formula_of(site), (operand(arrays, 0), operand(arrays, 1)))
        return (np.broadcast_to(steps, output.shape).astype(output.dtype.numpy),)

    return reference


def binary_constraints(types: Sequence[DType] = NUMBERS) -> tuple[AnyConstraint, ...]:
    """Limits of every elementwise operator of two operands, steps or plain numbers of one of ``types``."""
    return (
        *only(is_twice, activations(0, 1), wide_zero_points(0, 1)),
        *plain_types(types, 0, 1),
        broadcast_constraint(2),
    )


def broadcast_constraint(operands: int) -> AnyConstraint:
    """The shapes of the first ``operands`` inputs broadcast."""

    def shapes(site: AnySite) -> list[tuple[int, ...]]:
        return [site.input(index).shape for index in range(operands)]

    def broadcast(site: AnySite) -> bool:
        try:
            np.broadcast_shapes(*shapes(site))
        except ValueError:
            return False
        return True

    return Constraint(
        "each extent of one input is that of the other, or 1, or absent at the front",
        broadcast,
        lambda site: " and ".join(str(list(shape)) for shape in shapes(site)),
        "reshape one input in the model before conversion",
        gate=True,
    )


def fits_32_bits(peak: int, shift: int) -> bool:
    """Whether values up to ``peak`` stay in 32 bits when they are raised by ``shift`` bits."""
    return shift <= 30 and peak << max(shift, 0) <= INT32_MAX
