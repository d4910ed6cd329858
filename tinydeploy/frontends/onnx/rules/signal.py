"""Fourier transforms as products with a constant matrix; windows and mel filters fold at import."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.places import axis_of
from tinydeploy.ir import Array
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.pad import Pad
from tinydeploy.ops.slice import Slice

MAX_MATRIX = 1 << 22
"""Elements of a transform's matrix, which the C holds in flash."""


def fourier(length: int, results: int, *, inverse: bool) -> npt.NDArray[np.complex128]:
    """The matrix [length, results] whose product with a row of samples is its transform."""
    turns = np.outer(np.arange(length), np.arange(results)) % length / length
    matrix = np.exp((2j if inverse else -2j) * np.pi * turns) / (length if inverse else 1)
    return np.asarray(matrix, np.complex128)


def _as_reals(matrix: npt.NDArray[np.complex128], parts: int, *, real_result: bool = False) -> Array:
    """A complex matrix for rows of numbers as [length * parts, results * (1 or 2)], parts neighbours."""
    by_real = np.stack([matrix.real, matrix.imag], axis=-1)
    by_imaginary = np.stack([-matrix.imag, matrix.real], axis=-1)
    blocks = np.stack([by_real, by_imaginary][:parts], axis=1)
    if real_result:
        blocks = blocks[..., :1]
    return blocks.reshape(matrix.shape[0] * parts, -1).astype(np.float32)


def _dft(context: Context) -> None:
    data = context.input(0)
    axis_before_20 = context.int_("axis", 1)
    number = axis_before_20 if context.opset < 20 else -2
    if context.opset >= 20 and context.optional(2) is not None:
        number = int(context.need_constant(2, "the axis").reshape(-1)[0])
    axis = axis_of(context, number, data.rank)
    if data.rank < 2 or axis == data.rank - 1 or data.shape[-1] not in (1, 2):
        raise context.fault(f"axis {number} of {list(data.shape)}, whose last axis holds 1 or 2 parts")
    inverse, half = bool(context.int_("inverse", 0)), bool(context.int_("onesided", 0))
    length = data.shape[axis]
    if context.optional(1) is not None:
        length = int(context.need_constant(1, "the length").reshape(-1)[0])
    if length < 1:
        raise context.fault(f"a transform of {length} samples")
    if inverse and half:
        matrix = _half_inverse(context, data, axis, length)
    else:
        data = _of_length(context, data, axis, length)
        matrix = _as_reals(
            fourier(length, length // 2 + 1 if half else length, inverse=inverse), data.shape[-1]
        )
    _transformed(context, data, axis, matrix, 1 if inverse and half else 2)


def _half_inverse(context: Context, data: Ref, axis: int, length: int) -> Array:
    """The real samples of a spectrum that holds its first half: the other half is the conjugate."""
    if context.optional(1) is None:
        length = 2 * (data.shape[axis] - 1)
    given = data.shape[axis]
    if length < 1 or given < length // 2 + 1 or data.shape[-1] != 2:
        raise context.fault(f"{length} samples from {list(data.shape)} along axis {axis}")
    whole = fourier(length, length, inverse=True)
    matrix = np.zeros((given, length), np.complex128)
    for row in range(length // 2 + 1):
        twice = 0 < row < (length + 1) // 2
        matrix[row] = whole[row] * (2 if twice else 1)
    return _as_reals(matrix, 2, real_result=True)


def _of_length(context: Context, data: Ref, axis: int, length: int) -> Ref:
    """Cut, or with zeros after it."""
    extent = data.shape[axis]
    if length < extent:
        size = tuple(length if k == axis else size for k, size in enumerate(data.shape))
        return context.emit(Slice((0,) * data.rank, size, (1,) * data.rank), data, tag="cut")
    if length > extent:
        pairs = tuple((0, length - extent if k == axis else 0) for k in range(data.rank))
        return context.emit(Pad(pairs), data, tag="longer")
    return data


def _transformed(context: Context, data: Ref, axis: int, matrix: Array, parts: int) -> None:
    """Samples along ``axis`` and their parts (the last axis) become one axis, which the matrix turns."""
    _fits(context, matrix)
    last = data.rank - 1
    order = [*(k for k in range(last) if k != axis), axis, last]
    turned = context.transpose(data, order)
    leading = turned.shape[:-2]
    rows = context.reshape(turned, (math.prod(leading), turned.shape[-2] * turned.shape[-1]))
    made = context.emit(BatchMatMul(), rows, context.literal(matrix, "matrix"), tag="transform")
    result = context.reshape(made, (*leading, matrix.shape[1] // parts, parts))
    context.set(context.transpose(result, [order.index(k) for k in range(data.rank)]))


def _fits(context: Context, matrix: Array) -> None:
    if matrix.size > MAX_MATRIX:
        context.refuse(
            f"its matrix has {matrix.size:,} elements; {MAX_MATRIX:,} are supported",
            "transform fewer samples at once, or compute the spectrum in the application",
        )


def _stft(context: Context) -> None:
    """Frames cut out by a gather; the window is part of the matrix."""
    signal = context.input(0)
    step = int(context.need_constant(1, "the frame's step").reshape(-1)[0])
    window = context.need_constant(2, "the window") if context.optional(2) is not None else None
    if context.optional(3) is not None:
        length = int(context.need_constant(3, "the frame's length").reshape(-1)[0])
    elif window is not None:
        length = window.size
    else:
        raise context.fault("neither a window nor a frame's length is given")
    if signal.rank == 2:
        signal = context.reshape(signal, (*signal.shape, 1))
    if signal.rank != 3 or signal.shape[2] not in (1, 2) or step < 1 or not 1 <= length <= signal.shape[1]:
        raise context.fault(f"frames of {length} every {step} samples from {list(signal.shape)}")
    batch, samples, parts = signal.shape
    half = bool(context.int_("onesided", 1))
    weights = np.ones(length) if window is None else window.reshape(-1).astype(np.float64)
    if weights.size > length:
        raise context.fault(f"a window of {weights.size} for frames of {length}")
    padded = np.pad(weights, ((length - weights.size) // 2, -(-(length - weights.size) // 2)))
    complex_matrix = fourier(length, length // 2 + 1 if half else length, inverse=False) * padded[:, None]
    matrix = _as_reals(complex_matrix, parts)
    _fits(context, matrix)
    count = (samples - length) // step + 1
    places = (np.arange(count)[:, None] * step + np.arange(length)).reshape(-1)
    attrs = Gather(1, tuple(places.tolist()), (count, length))
    frames = context.reshape(context.emit(attrs, signal, tag="frames"), (batch * count, length * parts))
    made = context.emit(BatchMatMul(), frames, context.literal(matrix, "matrix"), tag="transform")
    context.set(context.reshape(made, (batch, count, matrix.shape[1] // 2, 2)))


def _window(context: Context) -> None:
    """Constant parameters fold before a rule is asked."""
    context.need_constant(0, "the size")
    context.refuse("its size or type is not supported", "make it a constant of the model")


def _mel(context: Context) -> None:
    for position, what in enumerate(("the number of bands", "the transform's length", "the sample rate")):
        context.need_constant(position, what)
    context.refuse("its limits are computed when the model runs", "make them constants of the model")


RULES: dict[str, Rule] = {
    "BlackmanWindow": _window,
    "DFT": _dft,
    "HammingWindow": _window,
    "HannWindow": _window,
    "MelWeightMatrix": _mel,
    "STFT": _stft,
}
