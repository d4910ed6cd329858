"""What the int8 functions of one element share: a table of 256 results says all about one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, TensorType
from tinydeploy.ops.base import AnySite, operand
from tinydeploy.ops.formula import Formula, evaluate
from tinydeploy.ops.quantized import quant_of

StepsOf = Callable[[AnySite, Int64], Int64]
"""Output steps, not yet cut to the output's type, of input steps minus the input's zero point."""

Reference = Callable[[AnySite, tuple[Array | None, ...]], tuple[Array, ...]]


def same_infer(site: AnySite) -> tuple[TensorType, ...]:
    """The output has the input's type and shape."""
    return (TensorType(site.input(0).dtype, site.input(0).shape),)


def reference_of(steps_of: StepsOf) -> Reference:
    """The reference that applies ``steps_of`` to every element."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        output = site.outputs[0]
        centred = operand(arrays, 0).astype(np.int64) - quant_of(site.input(0)).zero_point
        return (np.clip(steps_of(site, centred), *output.dtype.limits).astype(output.dtype.numpy),)

    return reference


def formula_reference(formula_of: Callable[[AnySite], Formula]) -> Reference:
    """The reference that evaluates a formula of one operand."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        return (evaluate(formula_of(site), (operand(arrays, 0),)).astype(site.outputs[0].dtype.numpy),)

    return reference


def table_of(site: AnySite, reference: Reference) -> Array:
    """The result of every int8 input from -128 on."""
    (table,) = reference(site, (np.arange(-128, 128).astype(np.int8),))
    return table
