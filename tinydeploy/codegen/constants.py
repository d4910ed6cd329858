"""The constant data of a program: one symbol per content, whatever number of steps use it."""

from __future__ import annotations

import numpy as np

from tinydeploy.codegen.literals import CIdent, c_array
from tinydeploy.codegen.views import C_TYPES, Data
from tinydeploy.ir import Array, Graph, TensorType
from tinydeploy.kernels.base import Constant, Kind
from tinydeploy.schedule import Program


class Constants:
    """Collects data and names it; equal content gets one symbol."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._symbols: dict[tuple[str, bytes], CIdent] = {}
        self._data: list[Data] = []

    @property
    def data(self) -> tuple[Data, ...]:
        """Everything collected, in order of first use."""
        return tuple(self._data)

    def packed(self, constant: Constant) -> CIdent:
        """The symbol of a constant as a schedule packed it."""
        return self._add(constant.role, constant.ctype.value, constant.kind, constant.array)

    def value(self, graph: Graph, value: int) -> CIdent:
        """The symbol of a constant value that is read as it is."""
        type_ = graph.type(value)
        return self._add("constant", C_TYPES[type_.dtype], Kind.WEIGHTS, graph.array(value))

    def initial(self, type_: TensorType, array: Array) -> CIdent:
        """The symbol of a state variable's initial value."""
        return self._add("initial", C_TYPES[type_.dtype], Kind.TABLE, array)

    def padding(self, zero_point: int, row_bytes: int) -> CIdent:
        """The symbol of a row of zero points."""
        return self._add("padding", "int8_t", Kind.TABLE, np.full(row_bytes, zero_point, np.int8))

    def bytes(self, kind: Kind) -> int:
        """Size of all collected data of a kind."""
        return sum(data.bytes for data in self._data if data.kind is kind)

    def _add(self, role: str, ctype: str, kind: Kind, array: Array) -> CIdent:
        key = (ctype, array.tobytes())
        if key not in self._symbols:
            symbol = CIdent(f"{self._prefix}_{role}_{len(self._data)}")
            self._symbols[key] = symbol
            self._data.append(Data(symbol, CIdent(ctype), kind, array.size, array.nbytes, c_array(array)))
        return self._symbols[key]


def padding_rows(program: Program) -> dict[int, int]:
    """Zero point to the longest row that any call pads with it: shorter rows use its beginning."""
    longest: dict[int, int] = {}
    for call in program.calls():
        kernel = call.kernel
        for access in kernel.accesses:
            if access.pads(kernel.bands, kernel.band):
                longest[kernel.pad_value] = max(longest.get(kernel.pad_value, 0), access.row_bytes)
    return longest
