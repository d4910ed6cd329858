"""Both ends carry the same numbers."""

from __future__ import annotations

import re
from enum import IntEnum, IntFlag

import pytest

from tests.rpc.device_board import ROOT, RPC
from tinydeploy.rpc import protocol
from tinydeploy.rpc.messages import DType
from tinydeploy.rpc.protocol import Call, Capability, CounterUnit, Kind, Level, Status, StepMode

HEADERS = "".join(
    path.read_text()
    for path in (RPC / "td_rpc_internal.h", RPC / "td_rpc.h", ROOT / "runtime_c" / "include" / "tinydeploy.h")
)
IN_C = {
    name: int(value, 0)
    for name, value in re.findall(r"\b(TD_\w+)\s*=\s*(0[xX][0-9A-Fa-f]+|\d+)", HEADERS)
    + re.findall(r"#define (TD_\w+) (\d+)u?\b", HEADERS)
}


@pytest.mark.parametrize(
    ("numbers", "prefix"),
    [
        (Call, "TD_RPC_"),
        (Status, "TD_RPC_"),
        (Kind, "TD_RPC_"),
        (Level, "TD_RPC_"),
        (Capability, "TD_RPC_CAN_"),
        (CounterUnit, "TD_RPC_COUNTS_"),
        (StepMode, "TD_RPC_STEP_"),
        (DType, "TD_"),
    ],
)
def test_c_and_python_carry_the_same_numbers(numbers: type[IntEnum] | type[IntFlag], prefix: str) -> None:
    assert {f"{prefix}{number.name}": number.value for number in numbers}.items() <= IN_C.items()


def test_c_and_python_agree_on_version_and_bounds() -> None:
    assert IN_C["TD_RPC_VERSION"] == protocol.VERSION
    assert IN_C["TD_RPC_HEADER_BYTES"] == protocol.HEADER_BYTES
    assert IN_C["TD_RPC_MIN_PAYLOAD"] == protocol.MIN_PAYLOAD_BYTES
    assert IN_C["TD_RPC_MAX_PAYLOAD"] == protocol.MAX_PAYLOAD_BYTES
