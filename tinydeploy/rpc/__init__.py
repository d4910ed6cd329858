"""The host's end of the serial line to a board: DESIGN 7, wire format in docs/rpc.md. Knows no graph."""

from __future__ import annotations

from tinydeploy.rpc.bisect import FirstBad, first_difference
from tinydeploy.rpc.client import Client
from tinydeploy.rpc.errors import (
    BadAnswerError,
    InputError,
    LineClosedError,
    ModelFailedError,
    NoAnswerError,
    PortError,
    ProtocolVersionError,
    RefusedError,
    SessionLostError,
)
from tinydeploy.rpc.link import Timeouts
from tinydeploy.rpc.messages import (
    DeviceInfo,
    Inference,
    InstanceTrace,
    ModelInfo,
    StepCount,
    TensorInfo,
)
from tinydeploy.rpc.process import ProcessTransport
from tinydeploy.rpc.protocol import Call, Capability, CounterUnit, Level, Status
from tinydeploy.rpc.steps import profile, row_bytes, row_crcs, trace
from tinydeploy.rpc.transport import SerialTransport, SocketTransport, Transport, open_transport

__all__ = [
    "BadAnswerError",
    "Call",
    "Capability",
    "Client",
    "CounterUnit",
    "DeviceInfo",
    "FirstBad",
    "Inference",
    "InputError",
    "InstanceTrace",
    "Level",
    "LineClosedError",
    "ModelFailedError",
    "ModelInfo",
    "NoAnswerError",
    "PortError",
    "ProcessTransport",
    "ProtocolVersionError",
    "RefusedError",
    "SerialTransport",
    "SessionLostError",
    "SocketTransport",
    "Status",
    "StepCount",
    "TensorInfo",
    "Timeouts",
    "Transport",
    "first_difference",
    "open_transport",
    "profile",
    "row_bytes",
    "row_crcs",
    "trace",
]
