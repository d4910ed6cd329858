"""Inputs for a run: the user's own from .npz files, seeded random ones beside them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, DType, Graph, TensorType

SEED = 20261130

Sample = tuple[Array, ...]
"""The arrays of all inputs, in the model's order and types."""


def make_samples(graph: Graph, count: int, data: Sequence[Sample] = ()) -> list[Sample]:
    """``count`` samples: half of them (rounded up) from ``data`` as far as it reaches, the rest random.

    The random ones are the same for the same graph types; the first two are the lowest and the highest
    values throughout.
    """
    chosen = list(data[: -(-count // 2)])
    generator = np.random.default_rng(SEED)
    types = [graph.type(value) for value in graph.inputs]
    extremes = [tuple(_filled(type_, high) for type_ in types) for high in (False, True)]
    while len(chosen) < count:
        if extremes:
            chosen.append(extremes.pop(0))
        else:
            chosen.append(tuple(_random(type_, generator) for type_ in types))
    return chosen


def _filled(type_: TensorType, high: bool) -> Array:
    low_high = type_.dtype.limits if type_.dtype.is_integer else (-1, 1)
    if type_.dtype is DType.BOOL:
        low_high = (0, 1)
    return np.full(type_.shape, low_high[1 if high else 0], type_.dtype.numpy)


def _random(type_: TensorType, generator: np.random.Generator) -> Array:
    if type_.dtype is DType.FLOAT32:
        return generator.standard_normal(type_.shape).astype(np.float32)
    if type_.dtype is DType.BOOL:
        return generator.integers(0, 2, type_.shape).astype(bool)
    low, high = type_.dtype.limits
    drawn = generator.integers(low, high, type_.shape, dtype=np.int64, endpoint=True)
    return drawn.astype(type_.dtype.numpy)


@dataclass(frozen=True, slots=True)
class InputPort:
    """An input as a user fills it."""

    name: str
    type: TensorType


def ports_of(graph: Graph) -> tuple[InputPort, ...]:
    """The inputs of a graph."""
    return tuple(InputPort(graph.values[value].name, graph.type(value)) for value in graph.inputs)


def load_inputs(path: Path, ports: Sequence[InputPort], *, real: bool = False) -> list[Sample]:
    """Samples of an .npz file: arrays named like the model's inputs, or ``in0``, ``in1``, ...

    An array has an input's shape, or that shape with one more leading axis (several samples), or the same
    with the batch of 1 left out. With ``real`` float arrays are quantized with the input's scale. Raises
    TinyDeployError that names the file, the array, what was got and what is allowed.
    """
    arrays = read_arrays(path)
    columns = [_column(path, arrays, port, index, real=real) for index, port in enumerate(ports)]
    counts = {len(column) for column in columns}
    if len(counts) > 1:
        lengths = ", ".join(f"in{index}: {len(column)}" for index, column in enumerate(columns))
        raise TinyDeployError(f"the inputs have different numbers of samples ({lengths})", where=str(path))
    return list(zip(*columns, strict=True))


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, or of an .npy file as ``in0``. Raises TinyDeployError."""
    try:
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"in0": loaded}
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TinyDeployError(
            f"cannot read the arrays: {reason}",
            where=str(path),
            fix="Give an .npz file without pickled objects",
        ) from None


def _column(
    path: Path, arrays: dict[str, Array], port: InputPort, index: int, *, real: bool
) -> Sequence[Array]:
    type_ = port.type
    found = next((key for key in (port.name, f"in{index}") if key in arrays), None)
    if found is None:
        raise TinyDeployError(
            f"no array for input {index}; the file has {', '.join(sorted(arrays)) or 'none'}",
            where=str(path),
            fix=f"Name it in{index}",
        )
    array = arrays[found]
    if real and array.dtype.kind == "f" and type_.quant is not None:
        array = quantized(array, type_)
    if array.dtype != type_.dtype.numpy:
        hint = "Pass --float to quantize real numbers" if array.dtype.kind == "f" else "Convert the array"
        raise TinyDeployError(
            f"array {found!r} is {array.dtype}, input {index} is {type_.dtype.value}",
            where=str(path),
            fix=hint,
        )
    for shape in (type_.shape, type_.shape[1:] if type_.shape[:1] == (1,) else type_.shape):
        if array.shape == shape:
            return [array.reshape(type_.shape)]
        if array.shape[1:] == shape:
            return [sample.reshape(type_.shape) for sample in array]
    raise TinyDeployError(
        f"array {found!r} has shape {list(array.shape)}, "
        f"input {index} wants {list(type_.shape)}, or [N, ...] of it",
        where=str(path),
    )


def quantized(array: Array, type_: TensorType) -> Array:
    """Real numbers to steps of a per-tensor quantized type, as the generated ``quantize`` functions do."""
    if type_.quant is None or not type_.quant.per_tensor:
        raise TinyDeployError("only inputs with one scale can be quantized from real numbers")
    low, high = type_.dtype.limits
    steps = array.astype(np.float32) / np.float32(type_.quant.scale)
    steps = np.nan_to_num(steps, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    steps = np.clip(steps, low - type_.quant.zero_point, high - type_.quant.zero_point)
    rounded = np.trunc(steps) + np.where(np.abs(steps - np.trunc(steps)) >= 0.5, np.sign(steps), 0)
    steps = np.clip(rounded + type_.quant.zero_point, low, high)
    return np.asarray(steps.astype(type_.dtype.numpy))
