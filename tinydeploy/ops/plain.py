"""What the operators share that compute with numbers as they are: float32, integers of 8 to 64 bits, bool.

Float references are evaluated in float64 and rounded once; integers wrap as two's complement does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, is_plain, only, operand
from tinydeploy.ops.quantized import Activation, describe

Doubles = npt.NDArray[np.float64]
Reference = Callable[[AnySite, tuple[Array | None, ...]], tuple[Array, ...]]
Compute = Callable[[AnySite, tuple[Array, ...]], Array]
"""The result of a plain node, of any type and with more precision than its output may have."""

FLOATS = (DType.FLOAT32,)
SIGNED = (DType.INT8, DType.INT16, DType.INT32, DType.INT64)
INTEGERS = (*SIGNED, DType.UINT8, DType.UINT16, DType.UINT32)
NUMBERS = (*FLOATS, *INTEGERS)
TRUTHS = (DType.BOOL,)
EVERY = (*NUMBERS, *TRUTHS)

_NAMES = {
    FLOATS: "float32",
    INTEGERS: "integers of 8 to 64 bits",
    TRUTHS: "bool",
    NUMBERS: "float32 or integers of 8 to 64 bits",
    EVERY: "float32, bool or integers of 8 to 64 bits",
    (*FLOATS, *SIGNED): "float32 or signed integers",
}


def names_of(types: Sequence[DType]) -> str:
    """A set of element types for messages."""
    return _NAMES.get(tuple(types)) or " or ".join(type_.value for type_ in types)


def plain_reference(compute: Compute) -> Reference:
    """The reference that evaluates ``compute`` and rounds, or wraps, to the output's type once."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        output = site.outputs[0]
        data = tuple(operand(arrays, index) for index in range(len(arrays)))
        with np.errstate(all="ignore"):
            result = compute(site, data)
            return (np.broadcast_to(result, output.shape).astype(output.dtype.numpy),)

    return reference


def by_kind(quantized: Reference, plain: Reference) -> Reference:
    """The reference of an operator that has exact integers and plain numbers."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        return (plain if is_plain(site) else quantized)(site, arrays)

    return reference


def widened(array: Array) -> Array:
    """Floats with the precision in which references compute; other types as they are."""
    return array.astype(np.float64) if array.dtype == np.float32 else array


def activated(activation: Activation, values: Array) -> Array:
    """``values`` under a fused activation."""
    low, high = activation.bounds
    if low > -np.inf:
        values = np.maximum(values, values.dtype.type(low))
    return np.minimum(values, values.dtype.type(high)) if high < np.inf else values


def plain_types(types: Sequence[DType], *inputs: int, same_output: bool = True) -> tuple[AnyConstraint, ...]:
    """Where a node is plain: the given inputs have one of ``types``, all the same, and so has the output.

    ``same_output`` False leaves the output to the operator.
    """
    allowed = tuple(types)

    def holds(site: AnySite) -> bool:
        found = [site.input(index).dtype for index in inputs]
        if same_output:
            found.append(site.outputs[0].dtype)
        return len(set(found)) == 1 and found[0] in allowed

    def got(site: AnySite) -> str:
        types = [site.input(index) for index in inputs] + ([site.outputs[0]] if same_output else [])
        return ", ".join(map(describe, types))

    what = "all elements are" if len(inputs) + same_output > 1 else "the elements are"
    one = ", of one type" if len(allowed) > 1 and len(inputs) + same_output > 1 else ""
    return only(
        is_plain,
        Constraint(
            f"{what} {names_of(allowed)}{one}, where they are not quantized",
            holds,
            got,
            "add Cast nodes, or export the model in float32",
            gate=True,
        ),
    )


def not_quantized(types: str = "") -> AnyConstraint:
    """For operators that exist for plain numbers only."""
    return Constraint(
        "no input or output is quantized",
        is_plain,
        lambda site: ", ".join(map(describe, (*site.inputs, *site.outputs))),
        f"dequantize before this operator{types}",
        gate=True,
    )
