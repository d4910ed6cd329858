"""Sums of products with constant weights: convolutions and dense layers."""

from __future__ import annotations

import dataclasses
import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Rounding
from tinydeploy.ir import Array, Attrs, DType, Node, Quant, TensorType
from tinydeploy.ops import AnySite
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.quantized import Activation
from tinydeploy.passes.integerize.constants import own_steps
from tinydeploy.passes.integerize.known import Constant, Known
from tinydeploy.passes.integerize.wanted import Wanted

_LARGEST_BIAS = 2.0**62
"""In steps of the sum; beyond it a bias is no trained number."""

if TYPE_CHECKING:
    from tinydeploy.passes.integerize.sweep import Sweep


def dot_product(sweep: Sweep, node: Node, _site: AnySite) -> None:
    """Steps times constant weights; the bias, in whatever numbers the model has it, becomes 32-bit steps."""
    weights, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    constant = None if weights is None else sweep.constants.get(weights)
    real_bias = None if bias is None else sweep.constants.get(bias)
    if constant is None or weights is None or (bias is not None and real_bias is None):
        return
    axis = 3 if isinstance(node.attrs, DepthwiseConv2D) else 0
    name = sweep.graph.values[weights].name
    bias_name = name if bias is None else sweep.graph.values[bias].name
    _computed(sweep, node, node.attrs, constant, axis, real_bias, (name, bias_name))


def dense_of_matrices(sweep: Sweep, node: Node, site: AnySite) -> bool:
    """A product with one constant matrix from the right as FullyConnected, a scale per column."""
    attrs, weights = node.attrs, node.inputs[1]
    if not isinstance(attrs, BatchMatMul) or weights is None or attrs.transpose_a:
        return False
    constant = sweep.constants.get(weights)
    shape = site.input(1).shape
    if constant is None or math.prod(shape[:-2]) != 1 or len(shape) > len(site.input(0).shape):
        return False
    places = np.arange(constant.steps.size).reshape(shape[-2:])
    turned = constant.taken(places if attrs.transpose_b else places.T)
    name = sweep.graph.values[weights].name
    return _computed(sweep, node, FullyConnected(keep_dims=True), turned, 0, None, (name, f"{name}/bias"))


def _computed(
    sweep: Sweep,
    node: Node,
    attrs: Attrs,
    weights: Constant,
    axis: int,
    bias: Constant | None,
    names: tuple[str, str],
) -> bool:
    known = sweep.steps(node.inputs[0])
    # Behind a clamp of its own, a factor or an offset would come too late.
    clamps = getattr(node.attrs, "activation", Activation.NONE) is not Activation.NONE
    wanted = sweep.wanted(node.outputs[0], affine=not clamps)
    own = own_steps(weights) or own_steps(weights, axis)
    if known is None or wanted is None or own is None:
        return False
    type_, steps = own
    quant = type_.quant
    if quant is None:
        return False
    channels = weights.steps.shape[axis]
    real = _bias(weights, bias, wanted, channels)
    weight_quant = _scaled(quant, wanted.gain)
    if not _sound(known, weight_quant, real):
        return False
    if real is not None:
        steps, weight_quant = _made_room(known, steps, weight_quant, axis, real)
    inputs: list[int | None] = [
        known.source,
        sweep.constant(names[0], dataclasses.replace(type_, quant=weight_quant), steps),
    ]
    if real is not None:
        scale = np.array(_factors(known, weight_quant))
        whole = np.clip(np.rint(real / scale), -INT32_MAX, INT32_MAX)
        bias_type = TensorType(DType.INT32, (channels,))
        inputs.append(sweep.constant(names[1], bias_type, whole))
    once = dataclasses.replace(attrs, rounding=Rounding.HALF_EVEN)  # type: ignore[type-var]
    return sweep.compute(node, wanted, once, tuple(inputs))


def _bias(weights: Constant, bias: Constant | None, wanted: Wanted, channels: int) -> Array | None:
    """What is added per channel, after the gain."""
    if bias is None and wanted.offset is None:
        return None
    total = np.zeros(channels)
    if bias is not None:
        total = total + bias.real.reshape(-1) * wanted.gain
    return total if wanted.offset is None else total + np.array(wanted.offset)


def _scaled(quant: Quant, gain: float) -> Quant:
    return (
        quant if gain == 1.0 else Quant(tuple(s * gain for s in quant.scales), quant.zero_points, quant.axis)
    )


def _sound(known: Known, quant: Quant, bias: Array | None) -> bool:
    """Whether scales and biases are numbers that steps can express: a damaged file's may not be."""
    factors = _factors(known, quant)
    if not all(sys.float_info.min < factor < math.inf for factor in factors):
        return False
    if bias is None:
        return True
    return bool(np.isfinite(bias).all() and np.abs(bias).max() / min(factors) < _LARGEST_BIAS)


def _factors(known: Known, quant: Quant) -> list[float]:
    """Real numbers of one step of the sum, per channel or one for all."""
    source = known.type.quant
    if source is None:
        raise ValueError("steps have a scale")
    return [source.scale * scale for scale in quant.scales]


def _made_room(known: Known, steps: Array, quant: Quant, axis: int, bias: Array) -> tuple[Array, Quant]:
    """Weights in coarser steps where a channel's are so fine that its bias would leave 30 bits.

    Such a channel is all bias: what its weights lose is far below a step of the output.
    """
    largest = np.abs(bias)
    scale = np.array(_factors(known, quant))
    bits = np.maximum(np.ceil(np.log2(np.maximum(largest / scale, 1.0))) - 30, 0).astype(np.int64)
    if not bits.any():
        return steps, quant
    if len(quant.scales) == 1:
        bits = np.full(len(bias), bits.max())
        quant = Quant(quant.scales * len(bias), quant.zero_points * len(bias), axis)
    wanted = [1] * steps.ndim
    wanted[axis] = len(bias)
    zero_points = np.array(quant.zero_points, np.int64).reshape(wanted)
    shift = bits.reshape(wanted)
    coarse = ((steps - zero_points) / np.exp2(shift)).round().astype(np.int64) + zero_points
    scales = tuple(float(s * 2.0**b) for s, b in zip(quant.scales, bits, strict=True))
    return coarse, Quant(scales, quant.zero_points, axis)
