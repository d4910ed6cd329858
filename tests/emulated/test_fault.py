"""Faults are reported over the serial line, proved on QEMU; our own model reports the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.emulated.conftest import COMPILERS, Bench, Builder
from tinydeploy.emulate import Emulator
from tinydeploy.errors import DeviceError
from tinydeploy.firmware import Fault, FaultWatch, Firmware, find_fault, read_image

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

FAULTS = {
    "u": ("undefined instruction", "command"),
    "b": ("access to an address where there is nothing", "command"),
    "z": ("division by zero", "command"),
}


def fault_of(bench: Bench, command: str) -> Fault:
    received = bench.everything(command)
    assert received.startswith(b"\0"), "a frame under way ends first"
    assert received.endswith(b"\r\n\0")
    fault = find_fault(received)
    assert fault is not None
    return fault


@pytest.mark.parametrize("command", FAULTS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_fault_is_reported(builder: Builder, start: Start, command: str, compiler: str) -> None:
    cause, function = FAULTS[command]
    firmware = builder.bench("qemu-m4", compiler)
    fault = fault_of(Bench(start("qemu-m4", "qemu", firmware)), command)
    image = read_image(firmware.elf)
    assert fault.causes == (cause,)
    assert not fault.stack_overflow
    # Inlined or not, the faulting instruction lies in the bench's code.
    assert image.symbol_at(fault.registers["pc"]).split("+")[0] in (function, "td_app_main")
    text = fault.describe(image)
    assert text.startswith(f"the firmware faulted: {cause}, at 0x")
    assert ("address 0xe8000000" in text) == (command == "b")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_stack_overflow_is_reported_from_another_stack(
    builder: Builder, start: Start, compiler: str
) -> None:
    fault = fault_of(Bench(start("qemu-m4", "qemu", builder.bench("qemu-m4", compiler))), "o")
    assert fault.stack_overflow
    assert fault.causes[0] == "stack overflow"
    assert "pc" not in fault.registers
    assert fault.describe().startswith("the firmware faulted: stack overflow")


@pytest.mark.parametrize("command", ["u", "b", "o"])
@pytest.mark.parametrize("board", ["qemu-m4", "nucleo-f746"])
def test_our_model_reports_faults_too(builder: Builder, start: Start, board: str, command: str) -> None:
    fault = fault_of(Bench(start(board, "unicorn", builder.bench(board))), command)
    assert fault.causes[0] == (FAULTS[command][0] if command in FAULTS else "stack overflow")


def test_a_watched_line_ends_with_the_fault(builder: Builder, start: Start) -> None:
    """However the report is cut into pieces."""
    firmware = builder.bench("nucleo-f746")
    emulator = start("nucleo-f746", "unicorn", firmware)
    watch = FaultWatch(emulator.uart, read_image(firmware.elf))
    watch.write(b"f")
    received = b""
    while not received.endswith(b"3\n"):
        received += watch.read(30.0)
    watch.write(b"b")
    with pytest.raises(DeviceError) as caught:
        read_for_ever(watch)
    assert re.fullmatch(
        r"nucleo-f746 in Unicorn: the firmware faulted: access to an address where there is nothing, "
        r"at 0x08[0-9a-f]{6} \(\w+\+0x[0-9a-f]+\), address 0xe8000000\. Reset the board",
        str(caught.value),
    )


def read_for_ever(line: FaultWatch) -> None:
    while True:
        line.read(5.0)


def test_no_fault_in_ordinary_bytes() -> None:
    assert find_fault(b"\x00\x01TD-FAULT but not a report\r\n") is None


def test_each_architecture_has_its_words() -> None:
    """Armv6-M tells no cause; Armv8-M has a bit for its stack limit; RISC-V has numbers of its own."""
    reports = {
        b"exception=00000003 stack=ok pc=00000974": "HardFault, at 0x00000974",
        b"exception=00000006 stack=overflow cfsr=00100000": "stack overflow",
        b"exception=00000004 stack=ok pc=80000874 mcause=00000004 mtval=80400001": (
            "unaligned access, at 0x80000874, address 0x80400001"
        ),
        b"exception=0000000b stack=ok pc=80000874 mcause=0000000b mtval=00000000": (
            "exception 11, at 0x80000874"
        ),
    }
    for line, words in reports.items():
        fault = find_fault(b"TD-FAULT " + line + b"\r\n")
        assert fault is not None
        assert fault.describe() == f"the firmware faulted: {words}"


def test_an_unexpected_interrupt_has_its_number() -> None:
    fault = find_fault(b"TD-FAULT exception=00000037 stack=ok sp=20000000 cfsr=00000000\r\n")
    assert fault is not None
    assert fault.describe() == "the firmware faulted: interrupt 39 without a driver"
