"""Flashing through gdb servers: QEMU's, OpenOCD's before a chip's model, and one that misbehaves."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.emulated.conftest import Builder
from tests.emulated.conftest import builder as builder
from tests.flash.images import pattern, write_elf
from tinydeploy.boards import Board, Probe, load_board
from tinydeploy.emulate.line import Line
from tinydeploy.emulate.remote_bitbang import RemoteBitbang
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import Segment
from tinydeploy.flash import flash_board
from tinydeploy.flash.gdb_client import GdbClient
from tinydeploy.flash.gdb_remote import FlashArea, blocks_of, flash_areas
from tinydeploy.rpc import Client

M4 = load_board("qemu-m4")
F746 = load_board("nucleo-f746")
FLASH = 0x0800_0000
START_S = 20.0


def behind(board: Board, port: int) -> Board:
    return replace(board, probes=(Probe("gdb", f"127.0.0.1:{port}"),))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until somebody listens there, without connecting: a stub takes one connection at a time."""
    wanted = f":{port:04X} "
    deadline = time.monotonic() + START_S
    while not any(
        wanted in line and " 0A " in line for line in Path("/proc/net/tcp").read_text().splitlines()
    ):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.emulated
class TestQemu:
    @pytest.fixture
    def machine(self) -> Iterator[tuple[int, Line]]:
        """A machine without an image, halted, with its gdb server's port and its serial line."""
        if shutil.which("qemu-system-arm") is None:
            pytest.skip("qemu-system-arm is not installed")
        port = free_port()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            serial = f"tcp:127.0.0.1:{listener.getsockname()[1]},nodelay=on"
            command = ["qemu-system-arm", "-machine", "mps2-an386", "-S", "-gdb", f"tcp:127.0.0.1:{port}"]
            command += ["-serial", serial, "-display", "none", "-monitor", "none", "-icount", "shift=0"]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
                listener.settimeout(START_S)
                connection, _ = listener.accept()
                wait_for(port, process)
                line = Line(connection, "qemu")
                yield port, line
                line.close()
                process.kill()

    def test_an_image_is_loaded_verified_and_started(
        self, machine: tuple[int, Line], builder: Builder
    ) -> None:
        port, line = machine
        stages: list[str] = []
        flash_board(
            behind(M4, port), builder.model("qemu-m4").elf, progress=lambda stage, *_: stages.append(stage)
        )
        assert list(dict.fromkeys(stages)) == ["writing", "verifying"]
        with Client.connect(line) as client:
            assert client.describe().name == "tiny"

    def test_another_core_is_refused(self, machine: tuple[int, Line], tmp_path: Path) -> None:
        elf = write_elf(tmp_path / "image.elf", [Segment(0, pattern(64))])
        with pytest.raises(TinyDeployError) as caught:
            flash_board(behind(load_board("qemu-m3"), machine[0]), elf)
        assert str(caught.value).startswith(
            "board qemu-m3: the connected chip is not this board's: its core is a cortex-m4, "
        )

    def test_memory_that_is_not_there(self, machine: tuple[int, Line], tmp_path: Path) -> None:
        elf = write_elf(tmp_path / "image.elf", [Segment(0x7000_0000, pattern(64))])
        with pytest.raises(TinyDeployError, match=r"the gdb server cannot read 0x70000000 \(E14\)\. Give"):
            flash_board(behind(M4, machine[0]), elf)


@pytest.mark.emulated
def test_openocd_as_a_gdb_server_erases_and_writes_flash(tmp_path: Path) -> None:
    if shutil.which("openocd") is None:
        pytest.skip("openocd is not installed")
    segments = (Segment(FLASH, pattern(500)), Segment(FLASH + 0x8000, pattern(70, 3)))
    elf = write_elf(tmp_path / "image.elf", segments, FLASH)
    port = free_port()
    with RemoteBitbang(F746) as chip:
        config = tmp_path / "model.cfg"
        config.write_text(
            f"adapter driver remote_bitbang\nremote_bitbang host 127.0.0.1\nremote_bitbang port {chip.port}\n"
            f"transport select jtag\ngdb_port {port}\ntcl_port disabled\ntelnet_port disabled\n"
            "source [find target/stm32f7x.cfg]\nstm32f7x.cpu configure -event reset-start {}\n"
        )
        command = ["openocd", "-f", str(config), "-c", "init; reset halt"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            wait_for(port, server)
            flash_board(behind(F746, port), elf)
            server.terminate()
        for segment in segments:
            assert chip.target.content[segment.address - FLASH : segment.end - FLASH] == segment.data


class FakeServer:
    """A gdb server of one connection; ``answer`` makes its answers."""

    def __init__(self, answer: Callable[[str], bytes | None]) -> None:
        self._answer = answer
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as stream:
                while byte := stream.read(1):
                    if byte != b"$":
                        continue
                    body = b""
                    while (byte := stream.read(1)) != b"#":
                        body += byte
                    stream.read(2)
                    self.asked.append(body.decode("latin-1"))
                    answer = self._answer(self.asked[-1])
                    if answer is None:
                        return
                    connection.sendall(b"+$" + answer + b"#%02x" % (sum(answer) & 0xFF))


def scripted(**answers: bytes | None) -> Callable[[str], bytes | None]:
    """Answers by how the request begins; empty, which is "unknown", to all others."""

    def answer(request: str) -> bytes | None:
        return next((text for start, text in answers.items() if request.startswith(start)), b"")

    return answer


def test_console_output_and_run_lengths_are_undone() -> None:
    def answer(request: str) -> bytes:
        return {"m10,4": b'0* 00*"', "qSupported:swbreak+;hwbreak+": b"PacketSize=400"}.get(request, b"OK")

    server = FakeServer(answer)
    with GdbClient("127.0.0.1", server.port) as client:
        assert client.packet_bytes == 0x400
        assert client.ask("m10,4") == "0" * 11
    server.close()


def test_a_server_that_hangs_up_is_one_line(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "image.elf", [Segment(FLASH, pattern(64))], FLASH)
    server = FakeServer(scripted(q=b"", m=b"71c20f41", M=None))
    with pytest.raises(TinyDeployError) as caught:
        flash_board(behind(F746, server.port), elf)
    server.close()
    assert str(caught.value) == f"127.0.0.1:{server.port}: the gdb server closed the connection"


def test_a_server_that_says_nothing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinydeploy.flash.gdb_client._ANSWER_S", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(TinyDeployError, match=r"the gdb server gave no answer within 0 s"),
    ):
        GdbClient("127.0.0.1", int(listener.getsockname()[1]))


def test_memory_that_does_not_hold_what_was_written(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "image.elf", [Segment(FLASH, pattern(64))], FLASH)

    def answer(request: str) -> bytes:
        if request.startswith("m"):
            return b"71c20f41" if request.startswith("me000") else b"00" * 64
        return b"OK" if request.startswith("M") else b""

    server = FakeServer(answer)
    with pytest.raises(TinyDeployError, match=r"memory at 0x8000000 does not hold what was written\. Is"):
        flash_board(behind(F746, server.port), elf)
    server.close()


def test_nobody_listens_and_wrong_addresses(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "image.elf", [Segment(FLASH, pattern(64))], FLASH)
    with pytest.raises(TinyDeployError, match=r"no gdb server answers \(Connection refused\)\. Start it"):
        flash_board(behind(F746, free_port()), elf)
    with pytest.raises(TinyDeployError, match=r"'here' is not HOST:PORT\. Give the gdb server's address"):
        flash_board(behind(F746, 1), elf, "here")


def test_the_memory_map_gives_the_blocks_to_erase() -> None:
    text = """<memory-map><memory type="ram" start="0x20000000" length="0x1000"/>
        <memory type="flash" start="0x8000000" length="0x20000">
        <property name="blocksize">0x8000</property></memory>
        <memory type="flash" start="0x8020000" length="0x20000">
        <property name="blocksize">0x20000</property></memory>
        </memory-map>"""
    areas = flash_areas(text)
    assert areas == (
        FlashArea(0x800_0000, 0x802_0000, 0x8000),
        FlashArea(0x802_0000, 0x804_0000, 0x20000),
    )
    assert blocks_of(areas, Segment(0x801_7FFF, bytes(0x8003))) == [
        (0x801_0000, 0x8000),
        (0x801_8000, 0x8000),
        (0x802_0000, 0x20000),
    ]
    assert flash_areas("") == flash_areas("<memory-map>") == ()
