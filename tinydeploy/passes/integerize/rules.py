"""How each operator becomes integer: which inputs are steps, and what its attributes are then."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Attrs, DType, Node, Quant, TensorType
from tinydeploy.ops import AnySite
from tinydeploy.ops.add import Add
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.normalization import Normalization
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.resample import Resample
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.sum import Sum
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.passes.integerize.constants import small_steps
from tinydeploy.passes.integerize.known import steps_known
from tinydeploy.passes.integerize.products import dense_of_matrices, dot_product

if TYPE_CHECKING:
    from tinydeploy.passes.integerize.sweep import Sweep

Rule = Callable[["Sweep", Node, AnySite], None]
"""Makes a node integer if it can: it tells the sweep of new nodes and of what is known of the output."""

INDEX = (ArgMax, ArgMin)
"""Operators of steps whose result is an index."""


def _once(attrs: Attrs) -> Attrs:
    return dataclasses.replace(attrs, rounding=Rounding.HALF_EVEN)  # type: ignore[type-var]


def _rescaled(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Operators that take each input in its own scale: constants and functions get a fine one."""
    wanted = sweep.wanted(node.outputs[0])
    if wanted is None:
        return
    operands: list[int] = []
    for value in node.inputs:
        if value is None:
            return
        if (constant := sweep.constants.get(value)) is not None:
            type_, steps = small_steps(constant)
            operands.append(sweep.constant(sweep.graph.values[value].name, type_, steps))
        elif (operand := sweep.fine(value)) is not None:
            operands.append(operand)
        else:
            return
    sweep.compute(node, wanted, _once(node.attrs), tuple(operands))


def _in_output_scale(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Operators that choose between operands: each is brought to the output's scale first."""
    output = node.outputs[0]
    wanted = sweep.wanted(output)
    if wanted is None:
        return
    operands: list[int] = []
    for value in node.inputs:
        operand = sweep.operand(value, TensorType(wanted.dtype, (), wanted.quant))
        if operand is None:
            return
        operands.append(operand)
    sweep.compute(node, wanted, node.attrs, tuple(operands))


def _normalized(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Steps normalized by constants, whatever numbers the model has them in."""
    wanted, known = sweep.wanted(node.outputs[0]), sweep.steps(node.inputs[0])
    if wanted is None or known is None:
        return
    operands: list[int | None] = [known.source]
    for value in node.inputs[1:]:
        constant = None if value is None else sweep.constants.get(value)
        if value is not None and constant is None:
            return
        if value is None or constant is None:
            operands.append(None)
        else:
            type_ = TensorType(DType.FLOAT32, constant.real.shape)
            operands.append(sweep.constant(sweep.graph.values[value].name, type_, constant.real))
    sweep.compute(node, wanted, node.attrs, tuple(operands))


def _resampled(sweep: Sweep, node: Node, site: AnySite) -> None:
    """Weighted sums of steps: in their own scale if the result has it too, else in one 64 times as fine."""
    output = node.outputs[0]
    wanted, known, weights = sweep.wanted(output), sweep.steps(node.inputs[0]), site.constant(2)
    if wanted is None or known is None or known.type.quant is None or weights is None:
        return
    type_, source, largest = known.type, known.source, max(-known.low, known.high)
    same = (wanted.dtype, wanted.quant) == (type_.dtype, type_.quant)
    if type_.dtype is DType.INT8 and not same:
        type_ = TensorType(DType.INT16, type_.shape, Quant((known.type.quant.scale / 64,), (0,)))
        fine = sweep.requantized(known, type_, sweep.graph.values[output].name)
        if fine is None:
            return
        source, largest = fine, 255 * 64
    largest = int(largest * np.abs(weights).sum(axis=1).max()) + 1
    _, most = type_.dtype.limits
    if not same and largest > most:
        return
    made = sweep.emit(
        node.name,
        node.attrs,
        (source, *node.inputs[1:]),
        sweep.graph.values[output].name,
        dataclasses.replace(type_, shape=sweep.graph.type(output).shape),
    )
    if made is not None:
        bounds = (None, None) if same else (-largest, largest)
        sweep.known[output] = steps_known(made, sweep.type(made), *bounds)


def _quotient(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Division is a product with the reciprocal, a function of the divisor: so large at most that any
    dividend but 0 leaves the output's range."""
    wanted = sweep.wanted(node.outputs[0])
    dividend, divisor = node.inputs
    if not isinstance(node.attrs, Binary) or node.attrs.function is not BinaryFunction.DIV or wanted is None:
        return
    if dividend is None or divisor is None:
        return
    first: int | None
    if (constant := sweep.constants.get(dividend)) is not None:
        type_, steps = small_steps(constant)
        first = sweep.constant(sweep.graph.values[dividend].name, type_, steps)
    else:
        first = sweep.fine(dividend)
    if first is None or (quant := sweep.type(first).quant) is None:
        return
    largest = (2 << wanted.dtype.bits) * wanted.quant.scale / quant.scale
    second = sweep.reciprocal(divisor, largest)
    if second is not None:
        sweep.compute(node, wanted, Mul(rounding=Rounding.HALF_EVEN), (first, second))


def _in_one_scale(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Operators of one input that always round once."""
    wanted, known = sweep.wanted(node.outputs[0]), sweep.steps(node.inputs[0])
    if wanted is not None and known is not None:
        sweep.compute(node, wanted, node.attrs, (known.source,))


def _matrices(sweep: Sweep, node: Node, site: AnySite) -> None:
    """A matrix of constants is the weights of FullyConnected; two of steps are multiplied as they are."""
    if not dense_of_matrices(sweep, node, site):
        _rescaled(sweep, node, site)


RULES: dict[type[Attrs], Rule] = {
    Add: _rescaled,
    AveragePool2D: _rescaled,
    BatchMatMul: _matrices,
    Binary: _quotient,
    Conv2D: dot_product,
    DepthwiseConv2D: dot_product,
    FullyConnected: dot_product,
    GroupedConv2D: dot_product,
    LogSoftmax: _in_one_scale,
    Maximum: _in_output_scale,
    Mean: _rescaled,
    Minimum: _in_output_scale,
    Mul: _rescaled,
    Prelu: _rescaled,
    Normalization: _normalized,
    Resample: _resampled,
    Softmax: _rescaled,
    Sub: _rescaled,
    Sum: _rescaled,
    TransposeConv: dot_product,
}
