"""A verified TFLite file as plain data, every number in it checked for sense."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

from tinydeploy.errors import ModelError
from tinydeploy.frontends.tflite.validate import REPAIR, validate
from tinydeploy.ir import Array, DType, Quant, TensorType

MAX_RANK = 8
MAX_TENSOR_BYTES = 1 << 31
MAX_NAME = 1000
"""Characters of a name that are kept: names are labels, and a file may share one among all its tensors."""

_DTYPES = {
    tflite.TensorType.FLOAT32: DType.FLOAT32,
    tflite.TensorType.INT32: DType.INT32,
    tflite.TensorType.UINT8: DType.UINT8,
    tflite.TensorType.INT64: DType.INT64,
    tflite.TensorType.BOOL: DType.BOOL,
    tflite.TensorType.INT16: DType.INT16,
    tflite.TensorType.INT8: DType.INT8,
    tflite.TensorType.UINT32: DType.UINT32,
    tflite.TensorType.UINT16: DType.UINT16,
    tflite.TensorType.INT4: DType.INT4,
}


def _names_of(enum: type) -> dict[int, str]:
    return {number: name for name, number in vars(enum).items() if isinstance(number, int)}


_TYPE_NAMES = _names_of(tflite.TensorType)
_OPERATOR_NAMES = _names_of(tflite.BuiltinOperator)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor; ``dtype`` is None where we have no such element type, ``type_name`` is the file's word.

    ``dynamic`` lists the axes whose extent is known at run time only, the batch aside. ``data`` is what a
    constant holds; INT4 lies packed in it, or is ``unpacked``. ``custom_quantization`` and ``sparse`` say
    that the meaning of the data is not here. ``unsigned`` ones were uint8 in the file.
    """

    index: int
    name: str
    dtype: DType | None
    type_name: str
    shape: tuple[int, ...]
    dynamic: tuple[int, ...]
    quant: Quant | None
    data: memoryview | None
    variable: bool
    sparse: bool
    custom_quantization: bool
    unpacked: bool = False
    unsigned: bool = False

    @property
    def label(self) -> str:
        return f"tensor {self.index} {short(self.name)}"

    def array(self) -> Array:
        """The data of a constant of a known element type; INT4 unpacked."""
        if self.data is None or self.dtype is None:
            raise ValueError(f"{self.label} is not a constant")
        if self.dtype is DType.INT4 and not self.unpacked:
            packed = np.frombuffer(self.data, np.uint8)
            halves = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[: math.prod(self.shape)]
            return ((halves.astype(np.int8) ^ 8) - 8).astype(np.int8).reshape(self.shape)
        little = np.frombuffer(self.data, self.dtype.numpy.newbyteorder("<"))
        return little.astype(self.dtype.numpy, copy=False).reshape(self.shape)


def made(index: int, name: str, type_: TensorType, array: Array | None = None) -> Tensor:
    """A tensor that is not in the file; with ``array`` a constant."""
    return Tensor(
        index=index,
        name=name,
        dtype=type_.dtype,
        type_name=type_.dtype.value,
        shape=type_.shape,
        dynamic=(),
        quant=type_.quant,
        data=None if array is None else memoryview(np.ascontiguousarray(array).tobytes()),
        variable=False,
        sparse=False,
        custom_quantization=False,
        unpacked=True,
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """One operator of the file; ``inputs`` holds None for an absent optional input.

    ``options`` is the union's table, to be read as the kind that ``options_kind`` says. ``intermediates`` are
    tensors that hold no data: their quantization says how the operator computes inside.
    """

    index: int
    op: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...]
    options: Any
    options_kind: int


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One graph of a file; its operators name its own tensors."""

    name: str
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A name under which a file offers one of its subgraphs."""

    name: str
    subgraph: int


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that a file holds; its first subgraph is the one that runs where nothing else is asked."""

    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[Signature, ...]


def short(name: str) -> str:
    """A name for messages: quoted, escaped to ASCII, and cut where it is long."""
    return ascii(name if len(name) <= 80 else f"{name[:77]}...")


def read(data: bytes, where: str) -> Model:
    """Verify the file and give its content. Raises ModelError with the tensor or operator at fault."""
    validate(data, where)
    return _Reader(data, where).model()


class _Reader:
    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._where = where
        self._root = tflite.Model.GetRootAs(data, 0)
        self._constant_bytes = 64 * len(data) + (1 << 20)
        self._used_bytes = 0

    def model(self) -> Model:
        root = self._root
        if root.Version() != 3:
            raise self._fault("", f"version {root.Version()} of the schema; only 3 is known")
        if root.SubgraphsLength() == 0:
            raise self._fault("", "it holds no subgraph")
        codes = [_operator_name(root.OperatorCodes(index)) for index in range(root.OperatorCodesLength())]
        subgraphs = tuple(
            self._subgraph(root.Subgraphs(index), index, codes) for index in range(root.SubgraphsLength())
        )
        return Model(subgraphs, self._signatures(len(subgraphs)))

    def _subgraph(self, graph: Any, number: int, codes: list[str]) -> Subgraph:
        tensors = tuple(self._tensor(index, graph.Tensors(index)) for index in range(graph.TensorsLength()))
        operations = tuple(
            self._operation(index, graph.Operators(index), codes, len(tensors))
            for index in range(graph.OperatorsLength())
        )
        self._check_constant_use(tensors, operations)
        inputs = self._indices(_list(graph.InputsAsNumpy()), len(tensors), "the model's inputs")
        outputs = self._indices(_list(graph.OutputsAsNumpy()), len(tensors), "the model's outputs")
        return Subgraph(
            text_of(graph.Name()) or f"subgraph {number}",
            tensors,
            operations,
            tuple(index for index in inputs if index is not None),
            tuple(index for index in outputs if index is not None),
        )

    def _signatures(self, subgraphs: int) -> tuple[Signature, ...]:
        found: list[Signature] = []
        for index in range(self._root.SignatureDefsLength()):
            signature = self._root.SignatureDefs(index)
            name, subgraph = text_of(signature.SignatureKey()), int(signature.SubgraphIndex())
            if subgraph >= subgraphs:
                raise self._fault(
                    f"signature {short(name)}",
                    f"subgraph {subgraph} does not exist; there are {subgraphs} subgraphs",
                )
            found.append(Signature(name, subgraph))
        return tuple(found)

    def _fault(self, place: str, what: str) -> ModelError:
        return ModelError(what, where=": ".join(filter(None, (self._where, place))), fix=REPAIR)

    def _indices(
        self, indices: list[int], count: int, place: str, *, optional: bool = False
    ) -> tuple[int | None, ...]:
        for index in indices:
            if not (0 <= index < count or (optional and index == -1)):
                raise self._fault(place, f"tensor {index} does not exist; there are {count} tensors")
        return tuple(None if index == -1 else index for index in indices)

    def _operation(self, index: int, operator: Any, codes: list[str], tensors: int) -> Operation:
        place = f"operator {index}"
        code = operator.OpcodeIndex()
        if code >= len(codes):
            raise self._fault(place, f"operator code {code} does not exist; there are {len(codes)} codes")
        place = f"operator {index} ({codes[code]})"
        inputs = self._indices(_list(operator.InputsAsNumpy()), tensors, place, optional=True)
        outputs = self._indices(_list(operator.OutputsAsNumpy()), tensors, place)
        intermediates = self._indices(_list(operator.IntermediatesAsNumpy()), tensors, place)
        return Operation(
            index,
            codes[code],
            inputs,
            tuple(output for output in outputs if output is not None),
            tuple(tensor for tensor in intermediates if tensor is not None),
            operator.BuiltinOptions(),
            operator.BuiltinOptionsType(),
        )

    def _tensor(self, index: int, tensor: Any) -> Tensor:
        name = text_of(tensor.Name())
        place = f"tensor {index} {short(name)}"
        number = tensor.Type()
        if number not in _TYPE_NAMES:
            raise self._fault(place, f"element type {number} is not a type of TFLite")
        dtype = _DTYPES.get(number)
        data = self._buffer(tensor.Buffer(), place)
        shape, dynamic = self._shape(tensor, place, constant=data is not None)
        bits = dtype.bits if dtype is not None else 8
        size_bytes = (math.prod(shape) * bits + 7) // 8
        if size_bytes > MAX_TENSOR_BYTES:
            raise self._fault(place, f"shape {list(shape)} needs {size_bytes} bytes; 2**31 are allowed")
        if data is not None and dtype is not None and not tensor.Sparsity() and len(data) != size_bytes:
            raise self._fault(
                place,
                f"its buffer holds {len(data)} bytes, {dtype.value}{list(shape)} needs {size_bytes}",
            )
        details = tensor.Quantization()
        return Tensor(
            index=index,
            name=name,
            dtype=dtype,
            type_name=_TYPE_NAMES[number],
            shape=shape,
            dynamic=dynamic,
            quant=None if details is None else self._quant(details, dtype, shape, place),
            data=data,
            variable=tensor.IsVariable(),
            sparse=tensor.Sparsity() is not None,
            custom_quantization=details is not None and details.DetailsType() != 0,
        )

    def _shape(self, tensor: Any, place: str, *, constant: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(shape, axes known at run time only); a batch that is not known is 1."""
        shape = [int(extent) for extent in _list(tensor.ShapeAsNumpy())]
        signature = [int(extent) for extent in _list(tensor.ShapeSignatureAsNumpy())] or list(shape)
        if len(shape) > MAX_RANK:
            raise self._fault(place, f"{len(shape)} dimensions; {MAX_RANK} are allowed")
        if len(signature) != len(shape):
            raise self._fault(place, f"{len(shape)} dimensions but a signature of {len(signature)}")
        if any(extent < -1 for extent in (*shape, *signature)):
            raise self._fault(place, f"shape {shape} with signature {signature} has a negative extent")
        if shape and not constant and shape[0] < 1:
            shape[0] = 1
        dynamic = tuple(
            axis
            for axis, pair in enumerate(zip(shape, signature, strict=True))
            if -1 in pair and (axis > 0 or shape[0] < 0)
        )
        return tuple(1 if extent < 0 else extent for extent in shape), dynamic

    def _buffer(self, index: int, place: str) -> memoryview | None:
        count = self._root.BuffersLength()
        if index >= count and (index or count):
            raise self._fault(place, f"buffer {index} does not exist; there are {count} buffers")
        if index == 0:
            return None
        buffer = self._root.Buffers(index)
        if buffer.DataLength():
            return memoryview(buffer.DataAsNumpy())
        start, size = buffer.Offset(), buffer.Size()
        if start <= 1 or size == 0:
            return None
        if start + size > len(self._data):
            raise self._fault(
                place,
                f"buffer {index} at {start} with {size} bytes is outside the file of {len(self._data)} bytes",
            )
        return memoryview(self._data)[start : start + size]

    def _quant(self, details: Any, dtype: DType | None, shape: tuple[int, ...], place: str) -> Quant | None:
        scales = [float(scale) for scale in _list(details.ScaleAsNumpy())]
        zero_points = [int(zero) for zero in _list(details.ZeroPointAsNumpy())]
        if not scales or dtype in (None, DType.FLOAT32, DType.BOOL):
            return None
        if not zero_points:
            zero_points = [0] * len(scales)
        if len(zero_points) != len(scales):
            raise self._fault(place, f"{len(scales)} scales but {len(zero_points)} zero points")
        axis = details.QuantizedDimension()
        if len(shape) == 1:
            axis = 0  # Converters give a bias the dimension of its weights.
        if len(scales) > 1 and not 0 <= axis < len(shape):
            raise self._fault(place, f"quantized dimension {axis} of a shape {list(shape)}")
        if len(scales) > 1 and len(scales) != shape[axis]:
            raise self._fault(place, f"{len(scales)} scales, dimension {axis} has {shape[axis]}")
        for scale in scales:
            if not (math.isfinite(scale) and scale > 0.0):
                raise self._fault(place, f"scale {scale!r} is not a positive number")
        low, high = dtype.limits
        for zero in zero_points:
            if not low <= zero <= high:
                raise self._fault(place, f"zero point {zero} is outside {low} to {high}")
        return Quant(tuple(scales), tuple(zero_points), axis if len(scales) > 1 else None)

    def _check_constant_use(self, tensors: tuple[Tensor, ...], operations: tuple[Operation, ...]) -> None:
        """Each use of a constant costs its size; a file that is small must not ask for much."""
        sizes = [0 if tensor.data is None else len(tensor.data) for tensor in tensors]
        self._used_bytes += sum(sizes[index] for op in operations for index in op.inputs if index is not None)
        self._used_bytes += sum(sizes)
        if self._used_bytes > self._constant_bytes:
            raise self._fault(
                "",
                f"its operators read {self._used_bytes} bytes of constants, "
                f"too many for {len(self._data)} bytes",
            )


def _operator_name(code: Any) -> str:
    # Codes below 127 were stored in a byte once; newer files use both fields.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == tflite.BuiltinOperator.CUSTOM:
        return f"CUSTOM {short(text_of(code.CustomCode()))}"
    return _OPERATOR_NAMES.get(number, f"operator code {number}")


def text_of(raw: bytes | None) -> str:
    name = (raw or b"")[: 4 * MAX_NAME].decode("utf-8", errors="replace")
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."


def _list(array: Array | int) -> list[Any]:
    """A vector of the reader, which gives 0 where there is none."""
    return [] if isinstance(array, int) else array.tolist()
