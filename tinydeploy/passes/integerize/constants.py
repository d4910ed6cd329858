"""Constants as steps: in the model's own quantization where one scale holds it, else in a fine one."""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType, Quant, TensorType
from tinydeploy.passes.integerize.known import Constant


def own_steps(constant: Constant, axis: int | None = None) -> tuple[TensorType, Array] | None:
    """The steps and scales that the model gives a constant; None where it does not, or not along ``axis``.

    4-bit steps stay so.
    """
    quant = constant.quant(axis)
    if constant.type is None or quant is None:
        return None
    return TensorType(constant.type.dtype, constant.steps.shape, quant), constant.steps


def small_steps(constant: Constant) -> tuple[TensorType, Array]:
    """A constant as operand of elementwise arithmetic, of at most 16 bits, with one scale."""
    own = own_steps(constant)
    if own is not None and own[0].dtype in (DType.INT8, DType.INT16):
        return own
    return fine_steps(constant.real, DType.INT16)


def fine_steps(real: Array, dtype: DType) -> tuple[TensorType, Array]:
    """Real numbers in the finest symmetric steps of a type, with one bit to spare beyond 16."""
    return steps_up_to(real, dtype, (1 << 15) - 1 if dtype is DType.INT16 else (1 << 30) - 1)


def steps_up_to(real: Array, dtype: DType, limit: int) -> tuple[TensorType, Array]:
    """Real numbers in symmetric steps of a type, the largest of them ``limit``."""
    largest = float(np.abs(real).max())
    scale = max(largest / limit, 1e-30) if largest > 0 else 1.0
    steps = np.rint(real / scale).astype(np.int64)
    return TensorType(dtype, real.shape, Quant((scale,), (0,))), steps
