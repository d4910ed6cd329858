"""The golden vector of ``NAME_selftest``: inputs that both sides can make, and the CRC of every step."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from tinydeploy.codegen.literals import Raw
from tinydeploy.ir import Array, DType, Graph, TensorType
from tinydeploy.ops.exactness import is_exact
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.schedule import Program

SEED = 0x6B8B4567
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Check:
    """After step ``step`` the ``bytes`` bytes at ``address`` (a C expression) have this CRC-32."""

    step: int
    address: Raw
    bytes: int
    crc: Raw


def golden_inputs(graph: Graph) -> tuple[Array, ...]:
    """The inputs that the generated C makes for itself: bytes of an xorshift32 generator, in input order.

    Integers take the bytes as they are; a float32 element is one byte, signed, times 2**-6.
    """
    state = SEED
    arrays: list[Array] = []
    for value in graph.inputs:
        type_ = graph.type(value)
        count = type_.elements if type_.dtype is DType.FLOAT32 else type_.bytes
        drawn = bytearray(count)
        for index in range(count):
            state ^= (state << 13) & _MASK
            state ^= state >> 17
            state ^= (state << 5) & _MASK
            drawn[index] = state >> 24
        arrays.append(_as_type(bytes(drawn), type_))
    return tuple(arrays)


def _as_type(drawn: bytes, type_: TensorType) -> Array:
    if type_.dtype is DType.FLOAT32:
        steps = np.frombuffer(drawn, np.int8).astype(np.float32)
        return (steps * np.float32(1 / 64)).reshape(type_.shape)
    return np.frombuffer(drawn, type_.dtype.numpy.newbyteorder("<")).reshape(type_.shape)


def supports(graph: Graph) -> bool:
    """Whether a model can test itself: its inputs take any bytes, its bits are exact, it keeps no state."""
    plain = all(graph.type(value).dtype not in (DType.BOOL, DType.INT4) for value in graph.inputs)
    return plain and not graph.states and is_exact(graph)


def golden_crcs(program: Program) -> list[tuple[int, int, int]]:
    """(step, value, CRC-32) of every value that is whole when its step ends."""
    arrays = Interpreter(program.graph).run_all(golden_inputs(program.graph))
    return [
        (index, value, zlib.crc32(arrays[value].tobytes()))
        for index, step in enumerate(program.steps)
        for call in step.calls
        for value in call.outputs
        if step.ring_of(value) is None
    ]
