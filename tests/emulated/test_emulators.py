"""Choosing, starting and stopping emulators, and serving their lines."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.emulated.conftest import Bench, Builder
from tinydeploy.boards import load_board
from tinydeploy.emulate import LineServer, open_emulator, start_emulator
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.emulate.qemu import QemuEmulator
from tinydeploy.errors import DeviceError, TinyDeployError, ToolError
from tinydeploy.rpc import Client, LineClosedError, open_transport

M4 = load_board("qemu-m4")
F746 = load_board("nucleo-f746")


def test_the_first_installed_emulator_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_emulator(M4), QemuEmulator)
    assert isinstance(open_emulator(M4, "unicorn"), UnicornEmulator)
    monkeypatch.setenv("PATH", "/nowhere")
    assert isinstance(open_emulator(M4), UnicornEmulator)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("tinydeploy.emulate.select.importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolError) as caught:
        open_emulator(M4)
    assert str(caught.value) == (
        "board qemu-m4: no emulator is installed. "
        'Install one: apt-get install qemu-system-arm or pip install "tinydeploy[emulator]"'
    )


def test_boards_and_kinds_without_emulator() -> None:
    with pytest.raises(ToolError, match=r"board host: has no emulator\. Leave out --emulate"):
        open_emulator(load_board("host"))
    with pytest.raises(ToolError, match=r"board nucleo-f746: has no emulator 'qemu'\. It has: unicorn"):
        open_emulator(F746, "qemu")
    with pytest.raises(ToolError, match=r"cannot emulate rv32imc\. Supported: cortex-m0, .*cortex-m33"):
        UnicornEmulator(replace(F746, chip=replace(F746.chip, cpu="rv32imc")))


def test_each_architecture_has_its_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for board, package in (("qemu-m0", "qemu-system-arm"), ("qemu-rv32", "qemu-system-misc")):
        with pytest.raises(
            ToolError,
            match=rf"board {board}: no emulator is installed\. Install one: apt-get install {package}",
        ):
            open_emulator(load_board(board))


def test_a_block_without_model_is_named(builder: Builder) -> None:
    blocks = (*F746.chip.blocks, replace(F746.chip.blocks[0], name="npu", type="acme_npu"))
    emulator = UnicornEmulator(replace(F746, chip=replace(F746.chip, blocks=blocks)))
    with pytest.raises(
        ToolError, match=r"no emulator model for IP blocks of type 'acme_npu' \(npu\)\. Models: .*armv7m"
    ):
        emulator.start(builder.bench("nucleo-f746").elf)
    emulator.stop()


def test_qemu_missing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        ToolError, match=r"qemu-m4 in QEMU: qemu-system-arm is not on PATH\. Install it: apt-get"
    ):
        QemuEmulator(M4, "mps2-an386")


@pytest.mark.emulated
def test_qemu_that_refuses_is_one_line(builder: Builder) -> None:
    emulator = QemuEmulator(M4, "toaster")
    with pytest.raises(
        ToolError, match=r"qemu-m4 in QEMU: QEMU did not start: QEMU ended with 1 \(.*unsupported machine"
    ):
        emulator.start(builder.bench("qemu-m4").elf)


@pytest.mark.parametrize("kind", ["qemu", "unicorn"])
def test_before_the_start_there_is_no_line(kind: str) -> None:
    with pytest.raises(ToolError, match="is not started"):
        _ = open_emulator(M4, kind).uart


def test_a_file_that_is_no_image_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "x.elf").write_bytes(b"x")
    with pytest.raises(TinyDeployError, match=r"x\.elf: is not a readable ELF firmware"):
        start_emulator(F746, tmp_path / "x.elf")


def test_an_image_for_another_board_does_not_start(builder: Builder) -> None:
    with pytest.raises(
        DeviceError, match=r"bytes at 0x8000000, where mps2-an386 has no memory\. Build it for this board"
    ):
        start_emulator(M4, builder.bench("nucleo-f746").elf, "unicorn")


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["qemu", "unicorn"])
def test_a_line_that_closes_says_why(builder: Builder, kind: str) -> None:
    with start_emulator(M4, builder.bench("qemu-m4").elf, kind) as emulator:
        line = emulator.uart
        Bench(emulator)
    with pytest.raises(LineClosedError, match="the emulator was stopped"):
        line.read(1.0)
    with pytest.raises(LineClosedError, match="the emulator was stopped"):
        line.write(b"x")


@pytest.fixture
def server(builder: Builder) -> Iterator[LineServer]:
    with start_emulator(F746, builder.model("nucleo-f746").elf) as emulator:
        made = LineServer(emulator.uart)
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.close()
        thread.join()


@pytest.mark.emulated
def test_clients_come_and_go(server: LineServer) -> None:
    """Each begins its own session; what the board sent to the one before is gone."""
    for _ in range(3):
        with Client.connect(open_transport(server.url)) as client:
            assert client.describe().name == "tiny"


@pytest.mark.emulated
def test_a_busy_port_is_one_message(server: LineServer, builder: Builder) -> None:
    port = int(server.url.rpartition(":")[2])
    with (
        start_emulator(F746, builder.bench("nucleo-f746").elf) as emulator,
        pytest.raises(
            ToolError, match=rf"TCP port {port} cannot be opened \(Address already in use\)\. Give another"
        ),
    ):
        LineServer(emulator.uart, port)


@pytest.mark.emulated
def test_the_service_ends_with_the_emulator(builder: Builder) -> None:
    emulator = start_emulator(F746, builder.bench("nucleo-f746").elf)
    server = LineServer(emulator.uart)
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))):
        threading.Timer(0.2, emulator.stop).start()
        with pytest.raises(LineClosedError, match="the emulator was stopped"):
            server.serve_forever()
    server.close()
