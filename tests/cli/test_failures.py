"""What goes wrong outside the program is one clear line, exit code 1, and no half-written files."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import subprocess
import sys
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import serial
from onnx import TensorProto, helper, numpy_helper

from tests.cli.conftest import Cli, Outcome
from tests.flash.images import pattern, write_elf
from tests.rpc.conftest import program as program  # the device's program, a fixture
from tests.rpc.model import draw_inputs, expected_outputs
from tinydeploy import demo
from tinydeploy.firmware import Segment
from tinydeploy.rpc import SerialTransport
from tinydeploy.rpc.frame import FrameDecoder
from tinydeploy.rpc.protocol import HEADER_BYTES, MAX_PAYLOAD_BYTES, Call, decode_message

DIGITS = demo.model_path()
MANIFEST = Path(__file__).parent.parent / "boards" / "new" / "nucleo_f746zg.json"
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither pty nor mount")


def assert_one_line(outcome: Outcome, message: str) -> None:
    """One line on stderr that matches, nothing on stdout, exit code 1."""
    assert outcome.code == 1, outcome
    assert outcome.stdout == ""
    assert re.fullmatch(rf"error: {message}\n", outcome.stderr), outcome.stderr


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.name != "filler"
    }


class Relay:
    """The device's program behind a line that closes when a request of one kind arrives.

    ``cut_at`` None: it never closes.
    """

    def __init__(self, program: Path, cut_at: Call | None) -> None:
        self._cut_at = cut_at
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._threads: list[threading.Thread] = []
        self._close: Callable[[], None] = lambda: None

    def serve(
        self, read: Callable[[], bytes], write: Callable[[bytes], object], close: Callable[[], None]
    ) -> None:
        self._close = close
        self._threads = [
            threading.Thread(target=self._inward, args=(read,), daemon=True),
            threading.Thread(target=self._outward, args=(write,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _inward(self, read: Callable[[], bytes]) -> None:
        decoder = FrameDecoder(HEADER_BYTES + MAX_PAYLOAD_BYTES)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            while data := read():
                calls = [m.call for body in decoder.feed(data) if (m := decode_message(body)) is not None]
                if self._cut_at in calls:
                    self._close()
                    return
                self._process.stdin.write(data)

    def _outward(self, write: Callable[[bytes], object]) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            while data := self._process.stdout.read(4096):
                write(data)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()
        for thread in self._threads:
            thread.join(5)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def device_on_a_pty(program: Path, cut_at: Call | None = None) -> Iterator[str]:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    name = os.ttyname(theirs)
    relay = Relay(program, cut_at)
    opened = [ours, theirs]

    def close() -> None:
        while opened:
            os.close(opened.pop())

    relay.serve(lambda: os.read(ours, 4096), lambda data: os.write(ours, data), close)
    try:
        yield name
    finally:
        relay.stop()


@contextlib.contextmanager
def device_on_tcp(program: Path, cut_at: Call | None = None) -> Iterator[str]:
    relay = Relay(program, cut_at)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()

                def close() -> None:
                    with contextlib.suppress(OSError):
                        peer.shutdown(socket.SHUT_RDWR)
                    peer.close()

                relay.serve(lambda: peer.recv(4096), peer.sendall, close)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"socket://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join(5)
            relay.stop()


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Inputs of the device's model, and an older output that must stay."""
    image, words = draw_inputs(np.random.default_rng(9))
    np.savez(tmp_path / "in.npz", in0=image, in1=words)
    (tmp_path / "out.npz").write_text("older")
    return tmp_path


@posix
class TestLines:
    LINES = (device_on_a_pty, device_on_tcp)

    def run(self, cli: Cli, folder: Path, port: str, *more: object) -> Outcome:
        where = ("--input", folder / "in.npz", "-o", folder / "out.npz")
        return cli("run", "--board", "qemu-m4", "--port", port, *where, *more)

    @pytest.mark.parametrize("line", LINES)
    def test_a_whole_run(
        self,
        line: Callable[..., contextlib.AbstractContextManager[str]],
        program: Path,
        cli: Cli,
        inputs: Path,
    ) -> None:
        with line(program) as port:
            assert self.run(cli, inputs, port).code == 0
        with np.load(inputs / "in.npz") as given, np.load(inputs / "out.npz") as got:
            wanted = expected_outputs((given["in0"], given["in1"]), 0)
            np.testing.assert_array_equal(got["out0"], wanted[0])
        assert sorted(tree(inputs)) == ["in.npz", "out.npz"]

    @pytest.mark.parametrize(
        "cut_at",
        [*(Call.HELLO, Call.DESCRIBE_MODEL, Call.WRITE_INPUT, Call.RUN, Call.READ_OUTPUT, Call.RESET_MODEL)],
    )
    @pytest.mark.parametrize("line", LINES)
    def test_a_line_that_closes(
        self,
        line: Callable[..., contextlib.AbstractContextManager[str]],
        cut_at: Call,
        program: Path,
        cli: Cli,
        inputs: Path,
    ) -> None:
        with line(program, cut_at) as port:
            failed = self.run(cli, inputs, port)
        assert_one_line(
            failed,
            rf"{port}: the line closed \([^\n]+\)\. Check the cable and the board's power, then [^\n]*",
        )
        assert (inputs / "out.npz").read_text() == "older"
        assert sorted(tree(inputs)) == ["in.npz", "out.npz"]

    def test_json_says_it_in_one_object(self, program: Path, cli: Cli, inputs: Path) -> None:
        with device_on_a_pty(program, Call.RUN) as port:
            failed = self.run(cli, inputs, port, "--json")
        assert failed.code == 1
        assert failed.json["error"]["where"] == port
        assert failed.json["error"]["what"].startswith("the line closed (")

    def test_a_line_that_closed_before(self, program: Path, cli: Cli, inputs: Path) -> None:
        with device_on_a_pty(program) as port:
            pass
        failed = self.run(cli, inputs, port)
        assert_one_line(failed, rf"{port}: (there is no such port|the port cannot be opened) ?[^\n]*")

    def test_the_program_as_users_start_it(self, program: Path, inputs: Path) -> None:
        """A process of its own: no traceback from threads or at the interpreter's end either."""
        command = [sys.executable, "-m", "tinydeploy", "run", "--board", "qemu-m4"]
        with device_on_a_pty(program, Call.READ_OUTPUT) as port:
            done = subprocess.run(
                [*command, "--port", port, "--input", inputs / "in.npz", "-o", inputs / "out.npz"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        assert_one_line(
            Outcome(done.returncode, done.stdout, done.stderr), rf"{port}: the line closed [^\n]*"
        )

    def test_a_port_that_another_run_holds(self, program: Path, cli: Cli, inputs: Path) -> None:
        with device_on_a_pty(program) as port, SerialTransport(port):
            failed = self.run(cli, inputs, port)
        assert_one_line(failed, f"{port}: another program uses the port. Close that program, then try again")

    def test_a_port_that_does_not_exist(self, cli: Cli, inputs: Path) -> None:
        assert_one_line(
            self.run(cli, inputs, "/dev/ttyACM77"),
            "/dev/ttyACM77: there is no such port. Plug the board in, or give another --port",
        )
        assert_one_line(
            self.run(cli, inputs, "socket://127.0.0.1:1"),
            "socket://127.0.0.1:1: nobody listens there. Start the emulator or server first",
        )
        assert_one_line(
            self.run(cli, inputs, "socket://nowhere"),
            "socket://nowhere: this is not socket://HOST:PORT. Give a host and a port number",
        )

    def test_a_port_that_this_user_may_not_open(
        self, cli: Cli, inputs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise serial.SerialException(errno.EACCES, "could not open port /dev/ttyACM0: [Errno 13]")

        monkeypatch.setattr(serial, "serial_for_url", refuse)
        assert_one_line(
            self.run(cli, inputs, "/dev/ttyACM0"),
            "/dev/ttyACM0: this user may not open the port. Add yourself to the port's group "
            r"\(often dialout\) and log in again",
        )


@posix
def test_a_board_with_another_core(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenOCD tells the core before anything is erased; a stand-in for it has found a Cortex-M4."""
    elf = write_elf(tmp_path / "image.elf", [Segment(0x0800_0000, pattern(64))])
    tool = tmp_path / "openocd"
    tool.write_text("#!/bin/sh\necho tinydeploy: CPUID 0x410fc241\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    wrong = (
        "board nucleo-f746: the connected chip is not this board's: its core is a cortex-m4, STM32F746ZG has "
        "a cortex-m7. Give --board the board that is plugged in; `tinydeploy boards` lists them"
    )
    assert_one_line(cli("flash", elf, "--board", "nucleo-f746"), wrong)
    failed = cli("flash", elf, "--board", "nucleo-f746", "--json")
    assert f"{failed.json['error']['where']}: {failed.json['error']['what']}" in wrong


# Folders that cannot be written.


@pytest.fixture
def float_model(tmp_path: Path) -> Path:
    """A small float network and samples beside it, for the quantizer."""
    rng = np.random.default_rng(3)
    weights = numpy_helper.from_array(rng.normal(size=(8, 4)).astype(np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [weights],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    np.savez(tmp_path / "samples.npz", x=rng.normal(size=(16, 1, 8)).astype(np.float32))
    return tmp_path / "net.onnx"


@pytest.fixture
def digits_input(tmp_path: Path) -> Path:
    with np.load(DIGITS.with_name("digits_samples.npz")) as samples:
        np.savez(tmp_path / "in.npz", in0=samples["in0"][:2])
    return tmp_path / "in.npz"


Writer = Callable[[Path], tuple[object, ...]]


@pytest.fixture(
    params=[
        *("compile", "quantize", "html", "boards new", "export"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("build", "run")),
    ]
)
def writer(request: pytest.FixtureRequest, float_model: Path, digits_input: Path) -> Writer:
    """A command line that writes into a folder: every command that has ``-o``."""
    samples = float_model.with_name("samples.npz")
    quantize = ("quantize", float_model, "--data", samples)
    lines: dict[str, Writer] = {
        "compile": lambda folder: ("compile", DIGITS, "-o", folder / "lib"),
        "build": lambda folder: ("build", DIGITS, "--board", "qemu-m4", "-o", folder / "image"),
        "quantize": lambda folder: (*quantize, "-o", folder / "q.onnx"),
        "html": lambda folder: (*quantize, "-o", samples.with_name("q.onnx"), "--html", folder / "q.html"),
        "run": lambda folder: ("run", DIGITS, "--float", "--input", digits_input, "-o", folder / "out.npz"),
        "boards new": lambda folder: ("boards", "new", MANIFEST, "-o", folder / "mine.toml", "--force"),
        "export": lambda folder: (
            *("export", DIGITS, "--board", "nucleo-f746", "--format", "cmake", "-o", folder / "project"),
        ),
    }
    if request.param == "export" and not _has_command("export"):
        pytest.skip("there is no command export")
    return lines[request.param]


def _has_command(name: str) -> bool:
    from tinydeploy.cli.app import app

    names = {command.name for command in app.registered_commands}
    return name in names | {group.name for group in app.registered_groups}


def mounted(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 256 KiB; a test that may not mount is skipped."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or not mounted(folder, "size=256k"):
        pytest.skip("this user may not mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


REASONS = {
    "full": r"(cannot write: No space left on device|[\w.-]+ failed: no space left on the disk)",
    "read-only": r"cannot write: Read-only file system",
}


@pytest.mark.parametrize("fault", REASONS)
def test_a_disk_that_takes_nothing(fault: str, writer: Writer, cli: Cli, disk: Path) -> None:
    """Twice: into an empty folder, and over what an earlier run left there."""
    for earlier in (False, True):
        if earlier:
            _allow(disk)
            done = cli(*writer(disk))
            assert done.code == 0, done.stderr
        before = tree(disk)
        fill(disk)
        if fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        failed = cli(*writer(disk))
        assert_one_line(failed, rf"[^\n]*: {REASONS[fault]}\. [^\n]+")
        assert tree(disk) == before
        failed = cli(*writer(disk), "--json")
        assert failed.json.keys() == {"error"}


def _allow(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,rw,size=4m", str(disk)], check=True)
    (disk / "filler").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("room_kib", [16, 96, 160, 400])
def test_a_disk_that_fills_up_during_a_build(room_kib: int, cli: Cli, disk: Path) -> None:
    """Compiler and linker run out of space in the middle, or all fits; an older image stays whole."""
    subprocess.run(["mount", "-o", f"remount,size={room_kib}k", str(disk)], check=True)
    old = {"digits.elf": b"old image", "digits.bin": b"old"}
    (disk / "image").mkdir()
    for name, content in old.items():
        (disk / "image" / name).write_bytes(content)
    before = tree(disk)
    done = cli("build", DIGITS, "--board", "qemu-m4", "-o", disk / "image")
    if done.code == 0:
        assert tree(disk)["image/digits.elf"] not in (None, b"old image")
        assert not [name for name in tree(disk) if ".tinydeploy-" in name]
        return
    assert "o space left on" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
    assert tree(disk) == before


def test_a_file_where_a_folder_belongs(writer: Writer, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    before = tree(tmp_path)
    failed = cli(*writer(tmp_path / "file"))
    assert_one_line(failed, r"[^\n]*: cannot write: (Not a directory|File exists)\. [^\n]+")
    after = tree(tmp_path)
    after.pop("q.onnx", None)  # the page comes after the model
    assert after == before


def test_a_folder_where_a_file_belongs(cli: Cli, tmp_path: Path, digits_input: Path) -> None:
    out = tmp_path / "out.npz"
    out.mkdir()
    failed = cli("run", DIGITS, "--float", "--input", digits_input, "-o", out)
    assert_one_line(failed, rf"{out}: cannot write: Is a directory\. Choose another -o")
    image = tmp_path / "image"
    (image / "digits.elf").mkdir(parents=True)
    failed = cli("build", DIGITS, "--board", "qemu-m4", "-o", image)
    assert_one_line(failed, rf"{image}/digits\.elf: cannot write: Is a directory\. Choose another -o")
    assert sorted(tree(tmp_path)) == ["image", "image/digits.elf", "in.npz", "out.npz"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_not_replaced(cli: Cli, tmp_path: Path, digits_input: Path) -> None:
    """A device, which a user may mean by /dev/null, stays what it is."""
    out = tmp_path / "pipe"
    os.mkfifo(out)
    failed = cli("run", DIGITS, "--float", "--input", digits_input, "-o", out)
    assert_one_line(failed, rf"{out}: cannot write: not a regular file\. Choose another -o")
    assert out.is_fifo()


def test_a_build_that_fails_leaves_the_older_image(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "image"
    assert cli("build", DIGITS, "--board", "qemu-m4", "-o", image).code == 0
    before = tree(image)
    tools = tmp_path / "tools"
    tools.mkdir()
    broken = tools / "arm-none-eabi-gcc"
    broken.write_text(
        '#!/bin/sh\ncase "$*" in *--version*|*-dump*) exec /usr/bin/arm-none-eabi-gcc "$@";; esac\n'
        "echo 'digits.c:1: error: out of luck' >&2\nexit 1\n"
    )
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    failed = cli("build", DIGITS, "--board", "qemu-m4", "-o", image, "--toolchain", "gcc")
    assert failed.code == 1
    assert "error: out of luck" in failed.stderr
    assert tree(image) == before


@posix
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_output_that_cannot_be_written(options: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "tinydeploy", "boards", *options]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: output: No space left on device. Give another file or folder\n"


@posix
def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """``tinydeploy boards | head -1``."""
    command = [sys.executable, "-m", "tinydeploy", "boards"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
