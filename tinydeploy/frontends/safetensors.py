"""Files of the format safetensors, checked before use: a JSON header with offsets, then the bytes.

Read here rather than by the package of that name, whose numpy interface lacks bfloat16, the usual type of
adapters.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array

MAX_BYTES = 1 << 31
_HEAD_BYTES = 8

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def read_safetensors(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """The tensors of a file by name, as float32, and its metadata.

    Raises TinyDeployError where the file cannot be read, is damaged, or holds other numbers than floats.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise TinyDeployError(f"has {size} bytes; {MAX_BYTES} are allowed", where=str(path))
        data = path.read_bytes()
    except OSError as error:
        raise TinyDeployError(
            f"cannot be read: {error.strerror}", where=str(path), fix="Check the path"
        ) from None
    try:
        header, body = _split(data)
        metadata = header.pop("__metadata__", {})
        tensors = {name: _tensor(entry, body) for name, entry in header.items()}
        return tensors, {str(key): str(value) for key, value in dict(metadata).items()}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TinyDeployError(
            f"is no file of float tensors in the format safetensors: {error}",
            where=str(path),
            fix="Give the adapter_model.safetensors that PEFT saved",
        ) from None


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(data[:_HEAD_BYTES], "little")
    if len(data) < _HEAD_BYTES or length > len(data) - _HEAD_BYTES:
        raise ValueError("its header is longer than the file")
    header = json.loads(data[_HEAD_BYTES : _HEAD_BYTES + length])
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    return header, memoryview(data)[_HEAD_BYTES + length :]


def _tensor(entry: dict[str, Any], body: memoryview) -> Array:
    kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if kind not in _TYPES:
        raise ValueError(f"elements of type {kind}")
    if not all(isinstance(number, int) and number >= 0 for number in (*shape, start, end)):
        raise ValueError("shape or offsets are no sizes")
    dtype = np.dtype(_TYPES[kind])
    if not start <= end <= len(body) or end - start != math.prod(shape) * dtype.itemsize:
        raise ValueError("offsets do not fit the shape, or lie outside the file")
    array = np.frombuffer(body[start:end], dtype).reshape(shape)
    if kind == "BF16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)
