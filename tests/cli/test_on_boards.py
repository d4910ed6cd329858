"""The commands on emulated boards: the same image as for hardware, the same bits as the reference."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.cli.conftest import Cli, Outcome
from tests.golden.tflm import Tflm
from tests.rpc.faults import FaultyTransport
from tests.shared_data import (
    MLPERF_MODELS,
    kws_inputs,
    kws_labels,
    kws_names,
    mlperf_model,
    needs_shared,
)
from tests.tflite_builder import ModelBuilder
from tinydeploy import demo
from tinydeploy.boards import all_boards, load_board
from tinydeploy.build import compile_graph
from tinydeploy.cli.targets import board_for
from tinydeploy.device import build_model
from tinydeploy.emulate import start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.rpc import Client, Timeouts
from tinydeploy.toolchain import cpu_spec, select

pytestmark = pytest.mark.emulated

BOARDS = ("qemu-m4", "nucleo-f746")


@needs_shared
@pytest.mark.parametrize(
    ("board", "toolchain"),
    [
        ("qemu-m4", "gcc"),
        ("nucleo-f746", "zig"),
        pytest.param("qemu-m4", "zig", marks=pytest.mark.full),
        pytest.param("nucleo-f746", "gcc", marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("bench", ["kws", "ic", "ad"])
def test_verify_is_bit_exact(bench: str, board: str, toolchain: str, cli: Cli) -> None:
    found = cli(
        "verify", mlperf_model(bench), "--board", board, "--emulate", "--samples", 8,
        "--toolchain", toolchain, "--json",
    )  # fmt: skip
    assert found.code == 0, found.stderr
    assert found.json["bit_exact"] is True
    assert found.json["samples"] == 8
    assert found.json["instances_compared"] == 8 * found.json["instances"]
    assert found.json["toolchain"].startswith(toolchain)


@needs_shared
@pytest.mark.full
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("bench", MLPERF_MODELS)
def test_verify_thirty_two_samples(bench: str, board: str, cli: Cli) -> None:
    found = cli("verify", mlperf_model(bench), "--board", board, "--emulate", "--samples", 32, "--json")
    assert found.json["bit_exact"] is True


@needs_shared
@pytest.mark.full
def test_901_of_1000_keywords_are_right_on_the_board(cli: Cli, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=kws_inputs(1000))
    out = tmp_path / "out.npz"
    done = cli(
        "run", mlperf_model("kws"), "--board", "qemu-m4", "--emulate",
        "--input", tmp_path / "in.npz", "-o", out,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    labels = kws_labels()
    with np.load(out) as arrays:
        answers = arrays["out0"].reshape(1000, 12).argmax(axis=1)
    assert sum(labels[name] == answer for name, answer in zip(kws_names(), answers, strict=True)) == 901


@needs_shared
def test_a_hundred_keywords_through_rpc_get_the_labels_of_tflite_micro(cli: Cli, tmp_path: Path) -> None:
    inputs = kws_inputs(100)
    np.savez(tmp_path / "in.npz", in0=inputs)
    out = tmp_path / "out.npz"
    done = cli(
        "run", mlperf_model("kws"), "--board", "qemu-m4", "--emulate",
        "--input", tmp_path / "in.npz", "-o", out,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    data = mlperf_model("kws").read_bytes()
    oracle, output = Tflm(data), 34
    with np.load(out) as arrays:
        for image, got in zip(inputs, arrays["out0"], strict=True):
            oracle.run([image])
            np.testing.assert_array_equal(got, oracle.tensor(output).reshape(got.shape))


def flip(elf: Path, symbol: str, offset: int) -> None:
    """Flip the top bit of one byte of an object in an ELF file."""
    with elf.open("rb") as stream:
        image = ELFFile(stream)
        table = next(s for s in image.iter_sections() if isinstance(s, SymbolTableSection))
        found = next(entry for entry in table.iter_symbols() if entry.name == symbol)
        address = int(found["st_value"]) + offset
        section = image.get_section(found["st_shndx"])
        position = int(section["sh_offset"]) + address - int(section["sh_addr"])
    data = bytearray(elf.read_bytes())
    data[position] ^= 0x80
    elf.write_bytes(data)


@pytest.mark.parametrize("board", BOARDS)
def test_a_flipped_weight_is_found_in_its_step(board: str, cli: Cli, tmp_path: Path) -> None:
    """Every dense weight meets inputs that are not 0, so flipping one changes an output of its step."""
    built = cli("build", demo.model_path(), "--board", board, "--trace", "-o", tmp_path, "--json").json
    elf = Path(built["elf"])
    options = ("verify", demo.model_path(), "--board", board, "--emulate", "--firmware", elf, "--samples", 4)
    assert cli(*options, "--json").json["bit_exact"] is True
    graph = compile_graph(load(demo.model_path()), target_of(load_board(board).chip.cpu))
    call = next(c for c in graph.program.calls() if graph.graph.nodes[c.node].op == "FullyConnected")
    weights = next(c.data for c in call.kernel.constants if c.role == "weights")
    symbol = next(
        str(name)
        for name in graph.library.data_symbols
        if f"{name}[{len(weights)}]" in graph.library.files[f"{graph.library.prefix}_weights.h"]
        and "weights" in name
    )
    flip(elf, symbol, 5)
    failed = cli(*options, "--json")
    assert failed.code == 3
    first = failed.json["first_bad_step"]
    assert first["op"] == "FullyConnected"
    assert first["name"] == graph.graph.nodes[call.node].name
    assert failed.json["bit_exact"] is False
    shown = cli(*options)
    assert shown.code == 3
    assert first["name"] in shown.stdout


def test_another_models_image_is_refused(cli: Cli, small_model: Path, tmp_path: Path) -> None:
    built = cli("build", small_model, "--board", "qemu-m4", "--trace", "-o", tmp_path, "--json").json
    failed = cli("verify", demo.model_path(), "--board", "qemu-m4", "--emulate", "--firmware", built["elf"])
    assert failed.code == 1
    assert "the board runs model small with hash" in failed.stderr
    assert "Flash the image of this model" in failed.stderr


def test_an_image_without_trace_is_refused_with_advice(cli: Cli, tmp_path: Path) -> None:
    built = cli("build", demo.model_path(), "--board", "qemu-m4", "-o", tmp_path, "--json").json
    failed = cli("verify", demo.model_path(), "--board", "qemu-m4", "--emulate", "--firmware", built["elf"])
    assert failed.code == 1
    assert failed.stderr.count("\n") == 1


@pytest.mark.parametrize("board", BOARDS)
def test_build_and_profile(board: str, cli: Cli, tmp_path: Path) -> None:
    built = cli("build", demo.model_path(), "--board", board, "-o", tmp_path, "--json").json
    parts = ("code_bytes", "weights_bytes", "table_bytes", "runtime_bytes")
    assert sum(built[part] for part in parts) == built["flash_bytes"]
    assert all(built[part] > 0 for part in parts)
    assert built["ram_bytes"] >= built["arena_bytes"] + built["stack_bytes"]
    for suffix in ("elf", "bin", "hex", "map"):
        assert Path(built[suffix]).is_file()
    profiled = cli("profile", demo.model_path(), "--board", board, "--emulate", "--json").json
    again = cli("profile", demo.model_path(), "--board", board, "--emulate", "--json").json
    assert profiled == again
    assert 40_000 < profiled["instructions"] < 400_000


def test_instructions_agree_between_qemu_and_unicorn(tmp_path: Path) -> None:
    """The same ELF for Cortex-M4, one inference, counted by two emulators."""
    board = load_board("qemu-m4")
    compiled = compile_graph(load(demo.model_path()), target_of("cortex-m4"))
    built = build_model(compiled, board, select("gcc", cpu_spec("cortex-m4")), tmp_path)
    inputs, _ = demo.samples()
    counts = {}
    for kind in ("qemu", "unicorn"):
        with (
            start_emulator(board, built.firmware.elf, kind) as emulator,
            Client.connect(emulator.uart) as client,
        ):
            client.infer([inputs[:1]])
            counts[kind] = client.infer([inputs[1:2]]).count
    assert counts["qemu"] == pytest.approx(counts["unicorn"], rel=1e-4)


@pytest.mark.parametrize("board", BOARDS)
def test_five_hundred_frames_over_a_bad_line(board: str, tmp_path: Path) -> None:
    found = load_board(board)
    compiled = compile_graph(load(demo.model_path()), target_of(found.chip.cpu))
    built = build_model(compiled, found, select(None, cpu_spec(found.chip.cpu)), tmp_path)
    inputs, _ = demo.samples()
    interpreter = Interpreter(compiled.graph)
    patient = Timeouts(call_s=300, retransmit_s=0.05, retransmit_max_s=0.2, working_s=0.1)
    with start_emulator(found, built.firmware.elf) as emulator:
        line = FaultyTransport(emulator.uart, seed=7)
        with Client.connect(line, timeouts=patient) as client:
            index = 0
            while line.frames < 500:
                sample = inputs[index : index + 1]
                (got,) = client.infer([sample]).outputs
                np.testing.assert_array_equal(got, interpreter.run([sample])[0])
                index += 1
    assert index > 10


class TestFlash:
    """Emulated: serves until it is told to stop. Real: one line about what is missing."""

    def serve(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tinydeploy", "flash", *options, "--emulate", "--json"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_serves_and_run_needs_no_model(self, cli: Cli, tmp_path: Path) -> None:
        inputs, _ = demo.samples()
        np.savez(tmp_path / "in.npz", in0=inputs[:3])
        with self.serve("--board", "nucleo-f746") as server:
            try:
                assert server.stdout is not None
                ready = json.loads(server.stdout.readline())
                assert ready["image"] == "the demo model" or "last build" in ready["image"]
                options = ("--port", ready["port"])
                for _ in range(2):
                    done = cli("run", *options, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
                    assert done.code == 0, done.stderr
                checked = cli("verify", demo.model_path(), *options, "--samples", 4, "--json")
                assert checked.json["bit_exact"] is True
            finally:
                server.terminate()
                server.communicate()
        interpreter = Interpreter(load(demo.model_path()))
        with np.load(tmp_path / "out.npz") as arrays:
            for got, sample in zip(arrays["out0"], inputs[:3], strict=True):
                np.testing.assert_array_equal(got, interpreter.run([sample[None]])[0])

    def test_without_a_probe(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
        self.one_line(
            cli("flash", "--board", "nucleo-f746", "--toolchain", "zig", "--tool", "openocd"),
            "error: board nucleo-f746: openocd is not on PATH. "
            "Install it (apt-get install openocd), or use --emulate\n",
        )

    def test_an_unknown_board(self, cli: Cli) -> None:
        self.one_line(
            cli("flash", "--board", "nucleo-f747"),
            "error: board 'nucleo-f747' is not supported. "
            f"Supported: {', '.join(board.name for board in all_boards())}. Did you mean nucleo-f746 or ",
        )

    def test_a_model_that_is_too_large(self, cli: Cli, tmp_path: Path) -> None:
        builder = ModelBuilder().input((1, 1500)).fully_connected(1000)
        path = tmp_path / "large.tflite"
        path.write_bytes(builder.build())
        self.one_line(
            cli("flash", path, "--board", "nucleo-f746", "--emulate"),
            "error: board nucleo-f746: the image needs 15",
        )

    def test_a_model_that_needs_too_much_ram(self, cli: Cli, tmp_path: Path) -> None:
        builder = ModelBuilder().input((1, 400, 400, 2)).average_pool((2, 2), stride=(2, 2))
        path = tmp_path / "wide.tflite"
        path.write_bytes(builder.build())
        self.one_line(
            cli("flash", path, "--board", "nucleo-f746", "--emulate"),
            "the arena needs 400,000 bytes, nucleo-f746 has 262,144 in one piece; largest at the peak: "
            "320,000 bytes tensor_0, 80,000 bytes tensor_1. The smallest budget that works is 400000\n",
        )

    def test_a_busy_port(self, cli: Cli) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.one_line(
                cli("flash", "--board", "nucleo-f746", "--emulate", "--tcp-port", port),
                f"error: nucleo-f746 in Unicorn: TCP port {port} cannot be opened (Address already in use",
            )

    def test_nobody_at_the_port(self, cli: Cli, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", in0=np.zeros((1, 8, 8, 1), np.int8))
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        options = ("--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        failed = cli("run", "--board", "nucleo-f746", "--port", f"socket://127.0.0.1:{port}", *options)
        self.one_line(
            failed,
            f"error: socket://127.0.0.1:{port}: nobody listens there. Start the emulator or server first\n",
        )

    @staticmethod
    def one_line(failed: Outcome, text: str) -> None:
        assert failed.code == 1
        assert failed.stderr.count("\n") == 1, failed.stderr
        assert text in failed.stderr


class TestMessages:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ("--board", "nucleo-f746"),
                "it is not said how to reach nucleo-f746. Give --emulate, or --port",
            ),
            (("--board", "host", "--emulate"), "the board host takes no --emulate, --port or --firmware"),
            (("--board", "qemu-m4", "--emulate", "--core", "host"), "--core is for the board host"),
            (
                ("--board", "qemu-m4", "--emulate", "--port", "x"),
                "--emulate and --port are both given",
            ),
            (("--port", "x", "--firmware", "y.elf"), "--firmware is given without --board"),
        ],
    )
    def test_verify(self, options: tuple[str, ...], message: str, cli: Cli, small_model: Path) -> None:
        failed = cli("verify", small_model, *options)
        assert failed.code == 1
        assert message in failed.stderr

    def test_profile_on_the_host(self, cli: Cli, small_model: Path) -> None:
        failed = cli("profile", small_model, "--board", "host")
        assert failed.code == 1
        assert "the host counts nothing" in failed.stderr


def test_a_device_of_an_unknown_board(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def answered(port: str) -> Iterator[object]:
        yield SimpleNamespace(device=SimpleNamespace(board="b\n\x1b"), where=port)

    monkeypatch.setattr("tinydeploy.cli.targets.Client.open", answered)
    with pytest.raises(TinyDeployError) as caught:
        board_for(None, "COM3", None)
    assert str(caught.value) == (
        "COM3: the device there is a 'b\\n\\x1b', which is not known here. Name its file: --board FILE.toml"
    )


def test_boards(cli: Cli) -> None:
    found = {board["name"]: board for board in cli("boards", "--json").json["boards"]}
    assert found.keys() >= {"host", "nucleo-f746", "qemu-m4"}
    assert found["nucleo-f746"]["core"] == "cortex-m7"
    assert found["nucleo-f746"]["ram_bytes"] == 320 * 1024 + 16 * 1024
    assert found["nucleo-f746"]["flash_bytes"] == 1 << 20
    assert "nucleo-f746zg" in found["nucleo-f746"]["aliases"]
    assert "nucleo-f746" in cli("boards").stdout


def test_the_demo_from_pip_alone(tmp_path: Path) -> None:
    """Neither a cross compiler nor QEMU on PATH, not as root where that can be had."""
    environment: dict[str, Any] = {
        "PATH": os.path.dirname(sys.executable),
        "HOME": str(tmp_path),
        "COLUMNS": "100",
        "TINYDEPLOY_CACHE": os.environ.get("TINYDEPLOY_CACHE", ""),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tinydeploy", "demo"],
        env={key: value for key, value in environment.items() if value},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for word in ("digits", "accuracy", "98.0%", "flash", "RAM", "instructions", "zig"):
        assert word in done.stdout
    assert "bit-exact     yes" in done.stdout
