"""The model's inputs: their types, with every dynamic dimension settled."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from onnx import TypeProto, ValueInfoProto

from tinydeploy.errors import Gap, ModelError, TinyDeployError
from tinydeploy.frontends.onnx.types import DTYPES, OTHER_TYPES, element_name
from tinydeploy.ir import TensorType

MAX_RANK = 32
MAX_ELEMENTS = 1 << 28

_DYNAMIC = -1
"""How some exporters write an extent that they do not know."""

_TIME = re.compile(r"seq|time|len|frame|step|sample|window", re.IGNORECASE)
"""Names that speak of time: such a first dimension is no batch."""


def static_type(type_: TypeProto) -> TensorType | None:
    """The type of a value whose shape is fixed and whose elements the graph knows, else None."""
    tensor = type_.tensor_type
    if not type_.HasField("tensor_type") or not tensor.HasField("shape") or tensor.elem_type not in DTYPES:
        return None
    shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
    if any(extent <= 0 for extent in shape) or len(shape) > MAX_RANK or math.prod(shape) > MAX_ELEMENTS:
        return None
    return TensorType(DTYPES[tensor.elem_type], tuple(shape))


def type_gap(info: ValueInfoProto, role: str = "INPUT") -> Gap | None:
    """Why an input's type is not supported, if it is not."""
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        what = (kind or "no type").removesuffix("_type").replace("_", " ")
        return Gap(info.name, role, f"it is of the kind {what}", "use tensors at the model's edges")
    number = info.type.tensor_type.elem_type
    if number not in DTYPES:
        return Gap(info.name, role, f"its elements are {element_name(number)}", OTHER_TYPES)
    return None


class Dimensions:
    """Settles the dynamic dimensions of the inputs.

    ``given`` are sizes by name, or by INPUT:AXIS. A dynamic first dimension is the batch, of size 1, and so
    is every other dimension of its name.
    """

    def __init__(
        self, inputs: Sequence[ValueInfoProto], given: Sequence[tuple[str, int]], where: str
    ) -> None:
        self._where = where
        self._sizes = dict(given)
        self._batches = {
            name
            for info in inputs
            for name in [_name(info, 0)]
            if name and not _TIME.search(name) and not name.endswith(":0")
        }
        self._open: dict[str, list[str]] = {}
        known: dict[str, None] = {}
        for info in inputs:
            for axis in range(len(info.type.tensor_type.shape.dim)):
                if name := _name(info, axis):
                    known[name] = known[f"{info.name}:{axis}"] = None
        if unknown := [name for name in self._sizes if name not in known]:
            named = [name for name in known if ":" not in name] or list(known)
            raise TinyDeployError(
                f"--dim {unknown[0]!r} is no dynamic dimension of the model",
                where=where,
                fix=f"Dynamic dimensions: {', '.join(named)}" if named else "All its dimensions are fixed",
            )

    def type_of(self, info: ValueInfoProto) -> TensorType | None:
        """The type of an input whose element type is supported; None where a dimension is not settled."""
        tensor = info.type.tensor_type
        if not tensor.HasField("shape"):
            raise TinyDeployError(
                "has no shape",
                where=f"{self._where}: input {info.name!r}",
                fix="Export the model with shapes",
            )
        shape = [self._extent(info, axis) for axis in range(len(tensor.shape.dim))]
        if len(shape) > MAX_RANK or math.prod(filter(None, shape)) > MAX_ELEMENTS:
            raise ModelError(
                f"shape {shape[:MAX_RANK]} has too many dimensions or more than {MAX_ELEMENTS} elements",
                where=f"{self._where}: input {info.name!r}",
            )
        known = tuple(extent for extent in shape if extent is not None)
        return TensorType(DTYPES[tensor.elem_type], known) if len(known) == len(shape) else None

    def check(self) -> None:
        """Raise TinyDeployError that asks for every size that is still open."""
        if not self._open:
            return
        text = "; ".join(f"{name} ({', '.join(places)})" for name, places in self._open.items())
        count = len(self._open)
        raise TinyDeployError(
            f"{count} dynamic dimension{'s have' if count > 1 else ' has'} no size: {text}",
            where=self._where,
            fix="Give a size for each: " + " ".join(f"--dim {_quoted(name)}=N" for name in self._open),
        )

    def _extent(self, info: ValueInfoProto, axis: int) -> int | None:
        dim = info.type.tensor_type.shape.dim[axis]
        name = _name(info, axis)
        if not name:
            if dim.dim_value <= 0:
                raise ModelError(
                    f"axis {axis} has the extent {dim.dim_value}", where=f"{self._where}: input {info.name!r}"
                )
            return int(dim.dim_value)
        for key in (f"{info.name}:{axis}", name):
            if key in self._sizes:
                return self._sizes[key]
        if name in self._batches or (axis == 0 and name.endswith(":0")):
            return 1
        self._open.setdefault(name, []).append(f"axis {axis} of input {info.name!r}")
        return None


def _name(info: ValueInfoProto, axis: int) -> str:
    """What a dynamic dimension is called: its own name, or INPUT:AXIS; empty for a fixed one."""
    dims = info.type.tensor_type.shape.dim
    if axis >= len(dims) or (dims[axis].HasField("dim_value") and dims[axis].dim_value != _DYNAMIC):
        return ""
    return dims[axis].dim_param or f"{info.name}:{axis}"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.:/-]+", name) else f"'{name}'"
