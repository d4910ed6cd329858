"""The calls of a device, as methods. A client is one session; it begins with a freshly initialised model."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from tinydeploy.rpc.errors import BadAnswerError, InputError
from tinydeploy.rpc.link import Link, Timeouts
from tinydeploy.rpc.messages import (
    Array,
    DeviceInfo,
    Inference,
    ModelHead,
    ModelInfo,
    TensorHead,
    TensorInfo,
    unpack_count,
    unpack_hello,
    unpack_model,
    unpack_tensor,
)
from tinydeploy.rpc.protocol import VERSION, Call
from tinydeploy.rpc.transport import Transport, open_transport

_T = TypeVar("_T")
_Head = TypeVar("_Head", ModelHead, TensorHead)


class Client:
    """A session with one device. Every method raises a DeviceError of one clear line when it cannot succeed.

    `RefusedError`, `ModelFailedError`, `BadAnswerError` and `InputError` leave the session usable. After any
    other the effect on the device is unknown: all later calls fail, and `connect` begins anew.
    """

    def __init__(self, link: Link, device: DeviceInfo) -> None:
        self._link = link
        self.device = device
        self._model: ModelInfo | None = None

    @classmethod
    def open(cls, url: str, baudrate: int = 115200, timeouts: Timeouts | None = None) -> Self:
        """Opens the line that `url` names and connects; nothing stays open when that fails."""
        transport = open_transport(url, baudrate)
        try:
            return cls.connect(transport, timeouts=timeouts)
        except BaseException:
            transport.close()
            raise

    @classmethod
    def connect(
        cls,
        transport: Transport,
        *,
        timeouts: Timeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
        session: int | None = None,
    ) -> Self:
        """Begins a session. The client then owns `transport`; on an error it stays open and the caller's."""
        link = Link(transport, timeouts or Timeouts(), clock, session)
        payload = link.exchange(Call.HELLO, VERSION.to_bytes(4, "little"))
        return cls(link, _understood(link.where, Call.HELLO, unpack_hello, payload))

    def close(self) -> None:
        """Releases the line; the device keeps what it holds until the next session."""
        self._link.end("this program closed the line")
        self._link.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The line's name, for messages."""
        return self._link.where

    def describe(self) -> ModelInfo:
        """The model on the device; asked for once per session."""
        if self._model is None:
            head, name = self._described(Call.DESCRIBE_MODEL, b"", unpack_model)
            self._model = ModelInfo(
                name=name,
                hash=head.hash,
                arena_bytes=head.arena_bytes,
                steps=head.steps,
                instances=head.instances,
                inputs=tuple(self._tensor(0, index) for index in range(head.input_count)),
                outputs=tuple(self._tensor(1, index) for index in range(head.output_count)),
            )
        return self._model

    def forget_description(self) -> None:
        """The model on the device is another one now; ``describe`` asks for it again."""
        self._model = None

    def write_input(self, index: int, data: bytes) -> None:
        """Writes a whole input; `data` has exactly its size."""
        tensor = self._nth(self.describe().inputs, "input", index)
        if len(data) != tensor.size_bytes:
            raise self._wrong(f"input {index}", f"{len(data)} bytes", f"{tensor.size_bytes} bytes")
        chunk = self.device.max_payload_bytes - 8
        for offset in range(0, len(data), chunk):
            head = struct.pack("<II", index, offset)
            self.call(Call.WRITE_INPUT, head + data[offset : offset + chunk])

    def write_inputs(self, inputs: Sequence[Array]) -> None:
        """Writes every input, in the model's order, types and shapes."""
        tensors = self.describe().inputs
        if len(inputs) != len(tensors):
            raise self._wrong("the list of inputs", str(len(inputs)), str(len(tensors)))
        for index, (array, tensor) in enumerate(zip(inputs, tensors, strict=True)):
            dtype = tensor.dtype.numpy
            if array.dtype != dtype or array.shape != tensor.array_shape:
                got, wanted = f"{array.dtype} {array.shape}", f"{dtype} {tensor.array_shape}"
                raise self._wrong(f"input {index} ({tensor.name})", got, wanted)
        for index, (array, tensor) in enumerate(zip(inputs, tensors, strict=True)):
            self.write_input(index, array.astype(tensor.dtype.numpy, copy=False).tobytes())

    def run(self) -> int:
        """Runs the model once over the inputs written; what the board's counter advanced by (0: no counter).

        A run consumes its inputs: write them again before the next one.
        """
        return self.parsed(Call.RUN, b"", unpack_count)

    def read_output(self, index: int) -> bytes:
        """A whole output of the last run."""
        tensor = self._nth(self.describe().outputs, "output", index)
        return self._chunks(Call.READ_OUTPUT, tensor.size_bytes, lambda at: struct.pack("<II", index, at))

    def read_outputs(self) -> tuple[Array, ...]:
        """Every output of the last run, in the model's types and shapes."""
        return tuple(
            np.frombuffer(self.read_output(index), tensor.dtype.numpy).reshape(tensor.array_shape)
            for index, tensor in enumerate(self.describe().outputs)
        )

    def infer(self, inputs: Sequence[Array]) -> Inference:
        """Writes every input, runs, reads every output. State variables go on from the run before."""
        self.write_inputs(inputs)
        count = self.run()
        return Inference(self.read_outputs(), count)

    def reset_model(self) -> None:
        """Forgets state variables, outputs and a half-finished step-by-step run."""
        self.call(Call.RESET_MODEL, b"")

    def reset_device(self) -> None:
        """Restarts the device. The session is over; `connect` begins the next one."""
        self.call(Call.RESET_DEVICE, b"")
        self._link.end("the device was told to restart")

    def read_memory(self, address: int, size: int) -> bytes:
        """Bytes at an address, in debug images; whole aligned words are read as words."""
        self._check_address(address, size)
        return self._chunks(Call.READ_MEMORY, size, lambda at: struct.pack("<Q", address + at))

    def write_memory(self, address: int, data: bytes) -> None:
        """Writes bytes at an address, in debug images; whole aligned words are written as words."""
        self._check_address(address, len(data))
        chunk = (self.device.max_payload_bytes - 8) // 4 * 4
        for at in range(0, len(data), chunk):
            self.call(Call.WRITE_MEMORY, struct.pack("<Q", address + at) + data[at : at + chunk])

    def call(self, call: Call, payload: bytes = b"", answer_bytes: int = 0) -> bytes:
        """The payload answered to one call; it may hold `answer_bytes`, for which slow lines need time."""
        return self._link.exchange(call, payload, answer_bytes)

    def parsed(self, call: Call, payload: bytes, read: Callable[[bytes], _T]) -> _T:
        """One call whose answer `read` understands; its ValueError becomes a BadAnswerError."""
        return _understood(self.where, call, read, self.call(call, payload, self.device.max_payload_bytes))

    def _chunks(self, call: Call, size: int, head_at: Callable[[int], bytes]) -> bytes:
        """`size` bytes in answers as large as the device makes them, whole words each."""
        data = bytearray()
        chunk = self.device.max_payload_bytes // 4 * 4
        while len(data) < size:
            wanted = min(chunk, size - len(data))
            got = self.call(call, head_at(len(data)) + wanted.to_bytes(4, "little"), wanted)
            if len(got) != wanted:
                raise BadAnswerError(self.where, call, f"has {len(got)} bytes instead of {wanted}")
            data += got
        return bytes(data)

    def _tensor(self, direction: int, index: int) -> TensorInfo:
        head, name = self._described(
            Call.DESCRIBE_TENSOR, struct.pack("<II", direction, index), unpack_tensor
        )
        return TensorInfo(name, head.dtype, head.shape, head.size_bytes, head.scale, head.zero_point)

    def _described(self, call: Call, key: bytes, read: Callable[[bytes], _Head]) -> tuple[_Head, str]:
        """A description and its whole name, which may take several answers."""
        name = bytearray()
        while True:
            head = self.parsed(call, key + len(name).to_bytes(4, "little"), read)
            name += head.name_part
            if len(name) >= head.name_bytes:
                return head, name.decode("ascii", "replace")
            if not head.name_part:
                raise BadAnswerError(self.where, call, "has no room for a name")

    def _nth(self, tensors: tuple[TensorInfo, ...], kind: str, index: int) -> TensorInfo:
        if not 0 <= index < len(tensors):
            raise self._wrong(f"the index of an {kind}", str(index), f"0 to {len(tensors) - 1}")
        return tensors[index]

    def _check_address(self, address: int, size: int) -> None:
        if address < 0 or size < 0 or address + size > 2**64:
            raise self._wrong("the memory range", f"{size} bytes at {address:#x}", "64-bit addresses")

    def _wrong(self, what: str, got: str, allowed: str) -> InputError:
        fix = "The device's description says what it takes"
        return InputError(f"{what} is {got}, allowed is {allowed}", where=self.where, fix=fix)


def _understood(where: str, call: Call, read: Callable[[bytes], _T], payload: bytes) -> _T:
    try:
        return read(payload)
    except ValueError as error:
        raise BadAnswerError(where, call, str(error)) from error
