"""Calibration samples: a stream that can be read several times, and what one sample must look like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, DType, Graph

Sample = tuple[Array, ...]
"""The arrays of all inputs, in the model's order, shapes and types."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input that samples must fill."""

    name: str
    shape: tuple[int, ...]
    dtype: DType

    @property
    def text(self) -> str:
        return f"{self.dtype.value}{list(self.shape)}"


def ports_of(graph: Graph) -> tuple[Port, ...]:
    """The inputs of a graph."""
    return tuple(
        Port(graph.values[value].name, graph.type(value).shape, graph.type(value).dtype)
        for value in graph.inputs
    )


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples from ``where``. ``opened`` starts the stream anew; ``count`` is None where nobody knows."""

    where: str
    opened: Callable[[], Iterator[Sample]]
    count: int | None = None

    def __iter__(self) -> Iterator[Sample]:
        return self.opened()

    def limited(self, most: int | None) -> Samples:
        """At most ``most`` of them, the first."""
        if most is None:
            return self

        def opened() -> Iterator[Sample]:
            for index, sample in enumerate(self.opened()):
                if index == most:
                    return
                yield sample

        return Samples(self.where, opened, None if self.count is None else min(self.count, most))


def from_arrays(arrays: Sequence[Array], ports: Sequence[Port], where: str = "the data") -> Samples:
    """One array per input, each with the samples along its first axis, or one sample alone.

    Raises TinyDeployError where number, shapes or types do not fit, or the arrays differ in length.
    """
    if len(arrays) != len(ports):
        raise TinyDeployError(
            f"{len(arrays)} arrays, the model has {len(ports)} inputs",
            where=where,
            fix="Give one array per input",
        )
    stacked = [as_samples(array, port, where) for array, port in zip(arrays, ports, strict=True)]
    lengths = {port.name: len(array) for port, array in zip(ports, stacked, strict=True)}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise TinyDeployError(
            f"the inputs have different numbers of samples: {text}", where=where, fix="Give as many of each"
        )

    def opened() -> Iterator[Sample]:
        for index in range(len(stacked[0])):
            rows = (array[index] for array in stacked)
            yield tuple(checked(row, port, where, index) for row, port in zip(rows, ports, strict=True))

    return Samples(where, opened, len(stacked[0]))


def as_samples(array: Array, port: Port, where: str) -> Array:
    """An array as [samples, *shape of the input]; nothing is copied.

    Raises TinyDeployError where the shape does not fit.
    """
    shape = samples_shape(array.shape, port, where)
    return array.reshape(shape)


def samples_shape(shape: tuple[int, ...], port: Port, where: str) -> tuple[int, ...]:
    """What to see an array of this shape as: [N, *input]. Batches of any size are N samples.

    Raises TinyDeployError where it is neither one sample nor a stack or batches of them.
    """
    item = port.shape[1:] if port.shape[:1] == (1,) else port.shape
    rank = len(item)
    if item != port.shape and shape == item:
        return (1, *port.shape)
    fits = shape[len(shape) - rank :] == item if rank else True
    lead = shape[: len(shape) - rank]
    if fits and lead and len(lead) <= 2 and (item != port.shape or len(lead) == 1):
        count = int(np.prod(lead))
        if count == 0:
            raise TinyDeployError("holds no sample", where=where, fix="Give at least one")
        return (count, *port.shape)
    if shape == port.shape:
        return (1, *shape)
    turned = ""
    if len(shape) == 4 and len(port.shape) == 4:
        as_first = (shape[0], *shape[2:], shape[1])
        as_last = (shape[0], shape[3], *shape[1:3])
        if as_first[1:] == port.shape[1:]:
            turned = "; channels come first in the data and last in the model"
        elif as_last[1:] == port.shape[1:]:
            turned = "; channels come last in the data and first in the model: try --layout nhwc"
    wanted = ["N", *item]
    raise TinyDeployError(
        f"samples for the input {port.name!r} have shape {list(shape)}, "
        f"allowed: [{', '.join(map(str, wanted))}]{turned}",
        where=where,
        fix="Reshape the samples, or choose another array",
    )


def checked(array: Array, port: Port, where: str, index: int) -> Array:
    """One sample's array in the input's shape and type.

    Integers and booleans are taken as the numbers that they are where the input is real. Raises
    TinyDeployError for other types, numbers that the type does not hold, NaN and infinities.
    """
    where = f"{where}, sample {index}"
    if array.dtype.kind not in "biuf":
        raise TinyDeployError(
            f"the input {port.name!r} got {array.dtype}, allowed: numbers",
            where=where,
            fix="Convert the array",
        )
    if array.size != int(np.prod(port.shape)):
        samples_shape(array.shape, port, where)
    shaped = np.asarray(array).reshape(port.shape)
    if shaped.dtype.kind == "f" and not np.isfinite(shaped).all():
        kind = "NaN" if np.isnan(shaped).any() else "an infinity"
        raise TinyDeployError(
            f"the input {port.name!r} holds {kind}", where=where, fix="Clean the calibration data"
        )
    with np.errstate(over="ignore"):
        result = shaped.astype(port.dtype.numpy)
    if port.dtype is DType.FLOAT32:
        if not np.isfinite(result).all():
            raise TinyDeployError(
                f"the input {port.name!r} holds a number beyond float32", where=where, fix="Scale the data"
            )
    elif not np.array_equal(result, shaped):
        raise TinyDeployError(
            f"the input {port.name!r} is {port.dtype.value}, some numbers are not",
            where=where,
            fix="Give samples of the input's type",
        )
    return result


def from_iterables(
    start: Callable[[], Iterable[Any]], ports: Sequence[Port], where: str, count: int | None = None
) -> Samples:
    """Samples that a callable yields: an array, a sequence of arrays, or a mapping by input name.

    The callable is called once per walk and must then yield the same samples.
    """

    def opened() -> Iterator[Sample]:
        index = -1
        for index, item in enumerate(start()):
            arrays = _arrays_of(item, ports, f"{where}, sample {index}")
            pairs = zip(arrays, ports, strict=True)
            yield tuple(checked(np.asarray(array), port, where, index) for array, port in pairs)
        if index < 0:
            raise TinyDeployError("yields no sample", where=where, fix="Yield at least one")

    return Samples(where, opened, count)


def _arrays_of(item: Any, ports: Sequence[Port], where: str) -> list[Any]:
    if isinstance(item, Mapping):
        missing = [port.name for port in ports if port.name not in item]
        if missing:
            raise TinyDeployError(
                f"has no array {missing[0]!r}", where=where, fix=f"Name them {[p.name for p in ports]}"
            )
        return [item[port.name] for port in ports]
    arrays = list(item) if isinstance(item, (tuple, list)) else [item]
    if len(arrays) != len(ports):
        raise TinyDeployError(
            f"{len(arrays)} arrays, the model has {len(ports)} inputs",
            where=where,
            fix="Yield one array per input, in the model's order",
        )
    return arrays
