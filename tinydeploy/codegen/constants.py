"""The constant data of a program: one symbol per content, whatever number of steps use it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from tinydeploy.codegen.literals import CFloat, CIdent, Raw, c_array
from tinydeploy.codegen.views import C_TYPES, Data
from tinydeploy.ir import Array, Graph, TensorType
from tinydeploy.kernels.base import Constant, Kind
from tinydeploy.schedule import Call, Program


class Constants:
    """Collects data and names it; equal content gets one symbol.

    ``owner`` is what a constant belongs to, for collections that look at that instead of the content.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._symbols: dict[tuple[str, bytes], CIdent] = {}
        self._data: list[Data] = []

    @property
    def data(self) -> tuple[Data, ...]:
        """Everything collected, in order of first use."""
        return tuple(self._data)

    def packed(self, constant: Constant, owner: Hashable) -> CIdent | Raw:
        """The symbol of a constant as a schedule packed it."""
        return self._add(constant.role, constant.ctype.value, constant.kind, constant.array)

    def scalar(self, value: int) -> str:
        """A number that a kernel takes as an argument."""
        return str(value)

    def scale(self, value: float) -> CFloat | Raw:
        """A scale of the interface."""
        return CFloat(value)

    def zero_point(self, value: int) -> int | Raw:
        """A zero point of the interface."""
        return value

    def fill(self, value: int) -> int | Raw:
        """The byte of which a state variable's initial value consists."""
        return value

    def value(self, graph: Graph, value: int) -> CIdent | Raw:
        """The symbol of a constant value that is read as it is."""
        type_ = graph.type(value)
        return self._add("constant", C_TYPES[type_.dtype], Kind.WEIGHTS, graph.array(value))

    def initial(self, type_: TensorType, array: Array) -> CIdent | Raw:
        """The symbol of a state variable's initial value."""
        return self._add("initial", C_TYPES[type_.dtype], Kind.TABLE, array)

    def padding(self, zero_point: int, row_bytes: int, owner: Hashable) -> CIdent | Raw:
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


@dataclass(frozen=True, slots=True)
class Pad:
    """Who shares a row of padding: all that pad with this value, or one operator's reads of one value."""

    pad_value: int
    value: int = -1
    op: str = ""


def pad_of(program: Program, call: Call, value: int, *, apart: bool) -> Pad:
    """Whose padding a call takes for its operand ``value``; ``apart``: no other operand may share it."""
    if not apart:
        return Pad(call.kernel.pad_value)
    return Pad(call.kernel.pad_value, value, program.graph.nodes[call.node].op)


def padding_rows(program: Program, *, apart: bool = False) -> dict[Pad, int]:
    """The longest row that is padded with each: shorter rows use its beginning."""
    longest: dict[Pad, int] = {}
    for call in program.calls():
        kernel = call.kernel
        for value, access in zip(call.inputs, kernel.accesses, strict=True):
            if access.pads(kernel.bands, kernel.band):
                pad = pad_of(program, call, value, apart=apart)
                longest[pad] = max(longest.get(pad, 0), access.row_bytes)
    return longest
