"""Real lines: a pty, TCP, pyserial's loop, a process; and what is said when they cannot be opened."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import serial

from tests.rpc.model import draw_inputs, expected_outputs
from tinydeploy.rpc import (
    Client,
    LineClosedError,
    NoAnswerError,
    PortError,
    ProcessTransport,
    SerialTransport,
    SocketTransport,
    Timeouts,
    open_transport,
)

INPUTS = draw_inputs(np.random.default_rng(9))
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")


def check(client: Client) -> None:
    for counter in (0, 1):
        for got, expected in zip(
            client.infer(INPUTS).outputs, expected_outputs(INPUTS, counter), strict=True
        ):
            np.testing.assert_array_equal(got, expected, strict=True)


@contextmanager
def program_on(program: Path, descriptor: int) -> Iterator[None]:
    """The board's program with a descriptor for its line; both end with the block."""
    process = subprocess.Popen([program], stdin=descriptor, stdout=descriptor)
    os.close(descriptor)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def program_on_a_pty(program: Path) -> Iterator[str]:
    """The board behind a pty; the name to open."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    try:
        with program_on(program, ours):
            yield os.ttyname(theirs)
    finally:
        os.close(theirs)


@posix
def test_a_pty(program: Path) -> None:
    with program_on_a_pty(program) as name, Client.open(name) as client:
        assert client.where == name
        check(client)


@posix
def test_a_pty_whose_far_end_closes(program: Path) -> None:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    name = os.ttyname(theirs)
    with SerialTransport(name) as transport:
        os.close(theirs)
        with program_on(program, ours):
            client = Client.connect(transport)
        with pytest.raises(LineClosedError, match=rf"^{name}: the line closed \(.*\)\. Check the cable"):
            client.run()


@posix
def test_a_port_in_use_is_named(program: Path) -> None:
    with program_on_a_pty(program) as name, SerialTransport(name):
        text = f"^{name}: another program uses the port. Close that program, then try again$"
        with pytest.raises(PortError, match=text):
            SerialTransport(name)


def test_tcp(program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        with open_transport(url) as transport:
            assert isinstance(transport, SocketTransport)
            peer, _ = server.accept()
            with program_on(program, peer.detach()):
                client = Client.connect(transport)
                check(client)
            text = rf"^{url}: the line closed \(.*\)\. Check the cable"
            with pytest.raises(LineClosedError, match=text):
                client.run()


def test_a_process_under_sanitizers(program: Path) -> None:
    transport = ProcessTransport([str(program)])
    with Client.connect(transport) as client:
        check(client)
    with pytest.raises(LineClosedError, match=r"^board: the line closed"):
        transport.write(b"x")
    with pytest.raises(LineClosedError, match=r"^board: the line closed \(the process ended with 0\)"):
        transport.read(0)


def test_a_loop_that_only_echoes_is_no_device() -> None:
    text = r"^loop://: no answer to 'hello', sent once within"
    with SerialTransport("loop://") as transport, pytest.raises(NoAnswerError, match=text):
        Client.connect(transport, timeouts=Timeouts(call_s=0.1, retransmit_s=5))


def test_nothing_stays_open_when_nobody_answers() -> None:
    with pytest.raises(NoAnswerError):
        Client.open("loop://", timeouts=Timeouts(call_s=0.01))


def test_rfc2217_is_left_to_pyserial() -> None:
    with pytest.raises(
        PortError, match=r"^rfc2217://127.0.0.1:1: the port cannot be opened \(.*\)\. Check the name"
    ):
        open_transport("rfc2217://127.0.0.1:1")


@pytest.mark.parametrize("url", ["socket://", "socket://host", "socket://:1", "socket://host:notaport"])
def test_a_socket_url_of_another_form(url: str) -> None:
    with pytest.raises(
        PortError, match=f"^{url}: this is not socket://HOST:PORT. Give a host and a port number$"
    ):
        open_transport(url)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(PortError, match=f"^{url}: nobody listens there. Start the emulator or server first$"):
        open_transport(url)


def test_no_such_port(tmp_path: Path) -> None:
    name = str(tmp_path / "ttyACM0")
    text = f"^{name}: there is no such port. Plug the board in, or give another --port$"
    with pytest.raises(PortError, match=text):
        open_transport(name)


def test_no_such_program(tmp_path: Path) -> None:
    name = str(tmp_path / "board")
    text = rf"^{name}: it cannot be started \(No such file or directory\)\. Build the image again$"
    with pytest.raises(PortError, match=text):
        ProcessTransport([name])


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            serial.SerialException(errno.EACCES, "Permission denied"),
            "this user may not open the port. Add yourself to the port's group (often dialout) and log in a",
        ),
        (
            serial.SerialException(errno.EBUSY, "Device or resource busy"),
            "another program uses the port. Close that program, then try again",
        ),
        (
            ValueError("invalid URL,\nprotocol 'x' not known"),
            "the port cannot be opened (invalid URL, protocol 'x' not known). Check the name of the port",
        ),
    ],
)
def test_what_pyserial_says_is_put_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, text: str
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(serial, "serial_for_url", refuse)
    with pytest.raises(PortError) as refused:
        open_transport("COM3")
    assert str(refused.value).startswith(f"COM3: {text}")


def test_a_port_that_breaks_while_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def unplugged(*args: object) -> None:
        raise serial.SerialException("device reports readiness to read but returned no data")

    with SerialTransport("loop://") as transport:
        monkeypatch.setattr(transport._port, "read", unplugged)
        monkeypatch.setattr(transport._port, "write", unplugged)
        text = r"^loop://: the line closed \(device reports readiness .*\)\. Check the cable"
        with pytest.raises(LineClosedError, match=text):
            transport.read(1)
        with pytest.raises(LineClosedError, match=text):
            transport.write(b"x")


def test_threads_of_processes_end(program: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        ProcessTransport([str(program)]).close()
    assert threading.active_count() == before
