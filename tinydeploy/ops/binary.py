"""What the elementwise operators of two operands share: broadcasting, reference, limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinydeploy.fixed_point import INT32_MAX
from tinydeploy.ir import Array, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand
from tinydeploy.ops.formula import Formula, evaluate
from tinydeploy.ops.quantized import int8_activations

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


def binary_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of every elementwise operator of two int8 operands."""

    def broadcast(site: AnySite) -> bool:
        try:
            np.broadcast_shapes(site.input(0).shape, site.input(1).shape)
        except ValueError:
            return False
        return True

    return (
        int8_activations(0, 1),
        Constraint(
            "each extent of one input is that of the other, or 1, or absent at the front",
            broadcast,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "reshape one input in the model before conversion",
            gate=True,
        ),
    )


def fits_32_bits(peak: int, shift: int) -> bool:
    """Whether values up to ``peak`` stay in 32 bits when they are raised by ``shift`` bits."""
    return shift <= 30 and peak << max(shift, 0) <= INT32_MAX
