"""Tensor data of a file to arrays, with every size checked before anything is allocated."""

from __future__ import annotations

import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

from tinydeploy.frontends.onnx.types import element_name
from tinydeploy.ir import Array

MAX_ELEMENTS = 1 << 28
MAX_RANK = 32


class TensorError(ValueError):
    """What is wrong with a tensor; the caller knows where it is."""


class UnsupportedTensorError(TensorError):
    """A tensor that is well formed and not supported."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """How an element type lies in a TensorProto: bits in raw data, the typed field, the array's type."""

    bits: int
    field: str
    numpy: str = ""


_STORED: dict[int, _Stored] = {
    TensorProto.FLOAT: _Stored(32, "float_data", "float32"),
    TensorProto.UINT8: _Stored(8, "int32_data", "uint8"),
    TensorProto.INT8: _Stored(8, "int32_data", "int8"),
    TensorProto.UINT16: _Stored(16, "int32_data", "uint16"),
    TensorProto.INT16: _Stored(16, "int32_data", "int16"),
    TensorProto.INT32: _Stored(32, "int32_data", "int32"),
    TensorProto.INT64: _Stored(64, "int64_data", "int64"),
    TensorProto.BOOL: _Stored(8, "int32_data", "bool"),
    TensorProto.DOUBLE: _Stored(64, "double_data", "float64"),
    TensorProto.UINT32: _Stored(32, "uint64_data", "uint32"),
    TensorProto.UINT64: _Stored(64, "uint64_data", "uint64"),
    TensorProto.FLOAT16: _Stored(16, "int32_data"),
    TensorProto.BFLOAT16: _Stored(16, "int32_data"),
    TensorProto.INT4: _Stored(4, "int32_data"),
    TensorProto.UINT4: _Stored(4, "int32_data"),
}


def array_of(proto: TensorProto, folder: Path | None = None) -> Array:
    """The data of a tensor, read-only where it can be shared with the file.

    ``folder`` is where external data may lie; None refuses it. Raises TensorError.
    """
    stored = _STORED.get(proto.data_type)
    if stored is None:
        raise UnsupportedTensorError(
            f"element type {element_name(proto.data_type)} is not supported in constants"
        )
    shape = _shape(proto)
    if proto.HasField("segment"):
        raise TensorError("segments are not supported")
    count = math.prod(shape)
    wanted = (count * stored.bits + 7) // 8
    if proto.data_location == TensorProto.EXTERNAL:
        return _decoded(proto, stored, shape, _external(proto, wanted, folder))
    if proto.HasField("raw_data"):
        if len(proto.raw_data) != wanted:
            raise TensorError(f"{len(proto.raw_data)} bytes of data; shape {list(shape)} needs {wanted}")
        return _decoded(proto, stored, shape, proto.raw_data)
    items = getattr(proto, stored.field)
    needed = (count * stored.bits + 7) // 8 if stored.bits < 8 else count
    if len(items) != needed:
        raise TensorError(f"{len(items)} items of data; shape {list(shape)} needs {needed}")
    if not stored.numpy:
        return np.asarray(numpy_helper.to_array(proto))
    wide = np.array(items, np.float64 if "float" in stored.numpy else None)
    if wide.size == 0:
        return np.zeros(shape, stored.numpy)
    with np.errstate(over="ignore", invalid="ignore"):
        array = wide.astype(stored.numpy)
    if "int" in stored.numpy and not np.array_equal(array, wide):
        raise TensorError(f"an item of its data is no {stored.numpy}")
    return array.reshape(shape)


def _shape(proto: TensorProto) -> tuple[int, ...]:
    shape = tuple(proto.dims)
    if len(shape) > MAX_RANK:
        raise TensorError(f"{len(shape)} dimensions; {MAX_RANK} are allowed")
    if any(extent < 0 for extent in shape):
        raise TensorError(f"shape {list(shape)} has a negative extent")
    if math.prod(shape) > MAX_ELEMENTS or any(extent > MAX_ELEMENTS for extent in shape):
        raise TensorError(f"shape {list(shape)} has more than {MAX_ELEMENTS} elements")
    return shape


def _decoded(proto: TensorProto, stored: _Stored, shape: tuple[int, ...], raw: bytes) -> Array:
    if stored.numpy:
        return np.frombuffer(raw, np.dtype(stored.numpy).newbyteorder("<")).reshape(shape)
    plain = TensorProto(data_type=proto.data_type, dims=shape, raw_data=raw)
    return np.asarray(numpy_helper.to_array(plain))


def _external(proto: TensorProto, wanted: int, folder: Path | None) -> bytes:
    """The bytes of external data: from a regular file below the model's folder, and nowhere else."""
    entries = {entry.key: entry.value for entry in proto.external_data}
    if any(isinstance(text, bytes) for pair in entries.items() for text in pair):
        raise TensorError("the place of its external data is not UTF-8")
    location = entries.get("location", "")
    if folder is None:
        raise TensorError("its data lies in another file, and the model is not read from a folder")
    offset, length = _number(entries, "offset", 0), _number(entries, "length", wanted)
    if length != wanted:
        raise TensorError(f"{length} bytes of external data; its shape needs {wanted}")
    try:
        path = _inside(folder, location)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise TensorError(f"external data {location!r} is not a regular file")
            if offset + length > state.st_size:
                raise TensorError(
                    f"external data {location!r} has {state.st_size} bytes; {offset + length} are needed"
                )
            file.seek(offset)
            data = file.read(length)
    except (OSError, ValueError) as error:
        if isinstance(error, TensorError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise TensorError(f"external data {location!r} cannot be read: {reason}") from error
    if len(data) != wanted:
        raise TensorError(f"external data {location!r} ended early")
    return data


def _inside(folder: Path, location: str) -> Path:
    relative = Path(location)
    outside = relative.is_absolute() or ".." in relative.parts or "\\" in location or ":" in location
    if not location or outside:
        raise TensorError(f"external data {location!r} is not a path inside the model's folder")
    path = folder / relative
    if path.resolve() != folder.resolve() / relative:
        raise TensorError(f"external data {location!r} leads out of its place through a link")
    return path


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise TensorError(f"external data has the {key} {text!r}")
    return int(text)
