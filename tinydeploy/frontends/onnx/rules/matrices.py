"""Matrix products: MatMul and Gemm. Products with weights are dense layers."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ops.add import Add
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.mul import Mul


def _matmul(context: Context) -> None:
    a, b = context.input(0), context.input(1)
    if a.rank == 0 or b.rank == 0:
        raise context.fault(f"shapes {list(a.shape)} and {list(b.shape)}; a matrix has dimensions")
    context.set(product(context, a, b))


def product(context: Context, a: Ref, b: Ref) -> Ref:
    """numpy's matmul of two values of any rank from 1 on."""
    if a.rank == 1:
        result = product(context, context.reshape(a, (1, *a.shape)), b)
        return context.reshape(result, (*result.shape[:-2], *result.shape[-1:]) if b.rank > 1 else ())
    if b.rank == 1:
        result = product(context, a, context.reshape(b, (*b.shape, 1)))
        return context.reshape(result, result.shape[:-1])
    if a.shape[-1] != b.shape[-2]:
        raise context.fault(f"shapes {list(a.shape)} and {list(b.shape)} do not match")
    if b.rank == 2 and context.is_fixed(b):
        return context.emit(FullyConnected(keep_dims=True), a, context.transpose(b, (1, 0)))
    return context.emit(BatchMatMul(), a, b)


def _gemm(context: Context) -> None:
    """``alpha * A' B' + beta * C``: a dense layer, the factors folded into what is constant."""
    a, b, c = context.input(0), context.input(1), context.optional(2)
    alpha, beta = context.float_("alpha", 1.0), context.float_("beta", 1.0)
    if a.rank != 2 or b.rank != 2:
        raise context.fault(f"shapes {list(a.shape)} and {list(b.shape)}; matrices are needed")
    a = context.transpose(a, (1, 0)) if context.int_("transA", 0) else a
    weights = b if context.int_("transB", 0) else context.transpose(b, (1, 0))
    if a.shape[1] != weights.shape[1]:
        raise context.fault(f"inner extents {a.shape[1]} and {weights.shape[1]} do not match")
    shape = (a.shape[0], weights.shape[0])
    # Factors of constants are folded; those of values of the run are nodes of their own.
    if alpha != 1.0 and (data := context.constant(1)) is not None and data.dtype == np.float32:
        scaled = np.asarray(data * np.float32(alpha), np.float32)
        weights = context.literal(scaled if context.int_("transB", 0) else scaled.T, "weights")
        alpha = 1.0
    bias = None if c is None or beta == 0.0 else _times(context, c, 2, beta)
    fused = None if bias is None or alpha != 1.0 else _one_per_column(context, bias, shape)
    result = context.emit(FullyConnected(), a, weights, fused)
    if alpha != 1.0:
        result = context.emit(Mul(), result, _number(context, alpha, "alpha"), tag="scaled")
    if bias is not None and fused is None:
        result = context.emit(Add(), result, bias, tag="sum")
    if result.shape != shape:
        raise context.fault(f"C of shape {list(bias.shape) if bias else []} for a result {list(shape)}")
    context.set(result)


def _times(context: Context, ref: Ref, index: int, factor: float) -> Ref:
    if factor == 1.0:
        return ref
    data = context.constant(index)
    if data is not None and data.dtype == np.float32:
        return context.literal(np.asarray(data * np.float32(factor), np.float32), "beta")
    return context.emit(Mul(), ref, _number(context, factor, "factor"), tag="addend")


def _one_per_column(context: Context, bias: Ref, shape: tuple[int, int]) -> Ref | None:
    """C as a bias [N], where it is the same for all rows and weights; else None."""
    if not context.is_fixed(bias) or (bias.rank == 2 and bias.shape[0] != 1) or bias.rank > 2:
        return None
    if bias.type.elements == shape[1]:
        return context.reshape(bias, (shape[1],))
    array = context.array(bias)
    if array is None or array.size != 1:
        return None
    return context.literal(np.full(shape[1], array.reshape(-1)[0], array.dtype), "bias")


def _number(context: Context, value: float, tag: str) -> Ref:
    return context.literal(np.array(value, np.float32), tag)


RULES: dict[str, Rule] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
}
