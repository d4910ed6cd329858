"""Payloads of the calls, as data. Reading one checks every length; ValueError says what is wrong."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tinydeploy.rpc.protocol import (
    MAX_PAYLOAD_BYTES,
    MIN_PAYLOAD_BYTES,
    Capability,
    CounterUnit,
    Level,
    StepMode,
)

Array = npt.NDArray[Any]

_HELLO = struct.Struct("<9I")
_MODEL = struct.Struct("<Q6I")
_TENSOR = struct.Struct("<IIfiI")
_STEP = struct.Struct("<5I")
_STEP_HEAD = struct.Struct("<II")
_STEP_COUNT = struct.Struct("<IQ")
_INSTANCE = struct.Struct("<4I")

STEP_HEAD_BYTES = _STEP_HEAD.size
ALL_STEPS = 0xFFFFFFFF


class DType(IntEnum):
    """td_dtype of tinydeploy.h."""

    INT4 = 1
    INT8 = 2
    UINT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    FLOAT32 = 7
    BOOL = 8
    UINT16 = 9
    UINT32 = 10

    @property
    def numpy(self) -> np.dtype[Any]:
        """The element's numpy type; packed int4 travels as plain bytes."""
        return np.dtype(
            {DType.INT4: "u1", DType.BOOL: "?", DType.FLOAT32: "<f4"}.get(self, self.name.lower())
        ).newbyteorder("<")


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What HELLO tells. `counter_hz` is 0 where unknown; `model_status` is the td_status of init()."""

    abi: int
    level: Level
    capabilities: Capability
    max_payload_bytes: int
    counter_unit: CounterUnit
    counter_hz: int
    model_status: int
    board: str


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output. `scale` is 0 where it is not quantized; packed int4 is read as plain bytes."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    size_bytes: int
    scale: float
    zero_point: int

    @property
    def array_shape(self) -> tuple[int, ...]:
        """Shape of the numpy array that holds the tensor."""
        return (self.size_bytes,) if self.dtype is DType.INT4 else self.shape


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a model is, as the device describes it. `hash` is of the graph; names are printable ASCII."""

    name: str
    hash: int
    arena_bytes: int
    steps: int
    instances: int
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


@dataclass(frozen=True, slots=True)
class Inference:
    """One run: its outputs, and what the board's counter advanced by (0 without a counter)."""

    outputs: tuple[Array, ...]
    count: int


@dataclass(frozen=True, slots=True)
class InstanceTrace:
    """What one kernel instance wrote in one run: `crc` is over all rows' bytes in ascending order."""

    instance: int
    rows: int
    size_bytes: int
    crc: int


@dataclass(frozen=True, slots=True)
class StepCount:
    """What the board's counter advanced by in one step."""

    step: int
    count: int


@dataclass(frozen=True, slots=True)
class ModelHead:
    """A model's description without its tensors, and as much of its name as the answer held."""

    hash: int
    arena_bytes: int
    steps: int
    instances: int
    input_count: int
    output_count: int
    name_bytes: int
    name_part: bytes


@dataclass(frozen=True, slots=True)
class TensorHead:
    """A tensor's description, and as much of its name as the answer held."""

    dtype: DType
    size_bytes: int
    scale: float
    zero_point: int
    shape: tuple[int, ...]
    name_bytes: int
    name_part: bytes


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """What a STEP call answers: was that the model's last step, how many were run, and the report."""

    done: bool
    steps: int
    report: bytes


def pack_step(mode: StepMode, limit: int, instance: int = 0, row: int = 0, offset: int = 0) -> bytes:
    """Payload of STEP: run up to `limit` steps; the last three select what ROWS and BYTES report."""
    return _STEP.pack(mode, limit, instance, row, offset)


def unpack_hello(payload: bytes) -> DeviceInfo:
    """The device's answer to HELLO, once the versions agree."""
    _need(payload, _HELLO.size)
    _, abi, level, capabilities, max_payload, unit, hz, model_status, _ = _HELLO.unpack_from(payload)
    if not MIN_PAYLOAD_BYTES <= max_payload <= MAX_PAYLOAD_BYTES:
        raise ValueError(f"declares a payload of {max_payload} bytes")
    board = payload[_HELLO.size :].decode("ascii", "replace")
    return DeviceInfo(
        abi=abi,
        level=Level(level),
        capabilities=Capability(capabilities),
        max_payload_bytes=max_payload,
        counter_unit=CounterUnit(unit),
        counter_hz=hz,
        model_status=model_status,
        board=board,
    )


def unpack_model(payload: bytes) -> ModelHead:
    """The answer to DESCRIBE_MODEL."""
    _need(payload, _MODEL.size)
    graph_hash, arena, steps, instances, inputs, outputs, name_bytes = _MODEL.unpack_from(payload)
    return ModelHead(
        hash=graph_hash,
        arena_bytes=arena,
        steps=steps,
        instances=instances,
        input_count=inputs,
        output_count=outputs,
        name_bytes=name_bytes,
        name_part=payload[_MODEL.size :],
    )


def unpack_tensor(payload: bytes) -> TensorHead:
    """The answer to DESCRIBE_TENSOR; its shape, type and size agree."""
    _need(payload, _TENSOR.size)
    dtype, size, scale, zero_point, rank = _TENSOR.unpack_from(payload)
    name_at = _TENSOR.size + 4 * rank + 4
    _need(payload, name_at)
    *shape, name_bytes = struct.unpack_from(f"<{rank}iI", payload, _TENSOR.size)
    kind = DType(dtype)
    elements = math.prod(shape)
    expected = (elements + 1) // 2 if kind is DType.INT4 else elements * kind.numpy.itemsize
    if min(shape, default=1) < 1 or size != expected:
        raise ValueError(f"tells {size} bytes for {kind.name.lower()} of shape {shape}")
    return TensorHead(kind, size, scale, zero_point, tuple(shape), name_bytes, payload[name_at:])


def unpack_count(payload: bytes) -> int:
    """The answer to RUN."""
    if len(payload) != 8:
        raise ValueError(f"has {len(payload)} bytes instead of 8")
    return int.from_bytes(payload, "little")


def unpack_step(payload: bytes) -> StepAnswer:
    """The answer to STEP; the report's form depends on the mode asked for."""
    _need(payload, _STEP_HEAD.size)
    done, steps = _STEP_HEAD.unpack_from(payload)
    return StepAnswer(bool(done), steps, payload[_STEP_HEAD.size :])


def unpack_step_counts(report: bytes) -> list[StepCount]:
    """The report of mode COUNTS."""
    return [StepCount(*entry) for entry in _entries(_STEP_COUNT, report)]


def unpack_instances(report: bytes) -> list[InstanceTrace]:
    """The report of mode INSTANCES, in the order in which the instances began."""
    return [InstanceTrace(*entry) for entry in _entries(_INSTANCE, report)]


def unpack_words(report: bytes) -> list[int]:
    """A report of 32-bit numbers: mode ROWS."""
    return [word for (word,) in _entries(struct.Struct("<I"), report)]


def _entries(form: struct.Struct, report: bytes) -> list[tuple[int, ...]]:
    if len(report) % form.size:
        raise ValueError(f"has {len(report)} bytes, no multiple of {form.size}")
    return list(form.iter_unpack(report))


def _need(payload: bytes, size_bytes: int) -> None:
    if len(payload) < size_bytes:
        raise ValueError(f"has {len(payload)} bytes, fewer than {size_bytes}")
