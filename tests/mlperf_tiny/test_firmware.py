"""The harness on emulated boards: real models, right answers, pins that show the measurement."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import serial

from mlperf_tiny.accuracy import run_accuracy
from mlperf_tiny.catalogue import bench_of, model_path
from mlperf_tiny.dataset import read_dataset
from mlperf_tiny.devices import emulated_dut
from mlperf_tiny.dut import Dut, Mode
from mlperf_tiny.firmware import BenchBuild, build_bench, compile_bench
from mlperf_tiny.official import pty_of
from mlperf_tiny.session import Session
from tests.shared_data import SHARED, needs_shared
from tinydeploy.boards import load_board
from tinydeploy.emulate import start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import cpu_spec, select

pytestmark = [pytest.mark.emulated, pytest.mark.slow]

MODELS = SHARED / "mlperf_tiny"
DATASETS = MODELS / "datasets"


def built(name: str, board: str, folder: Path, mode: Mode = Mode.PERFORMANCE) -> BenchBuild:
    bench, found = bench_of(name), load_board(board)
    compiled = compile_bench(bench, model_path(bench, MODELS), found)
    toolchain = select(None, cpu_spec(found.chip.cpu))
    return build_bench(bench, compiled, found, toolchain, folder, mode=mode, emulated=True)


@needs_shared
def test_keywords_on_two_emulated_boards(tmp_path: Path) -> None:
    """Of the first 60 official inputs the int8 reference model gets 57 right; the run can be interrupted."""
    image = built("kws01", "qemu-m4", tmp_path / "build")
    assert image.cycles_are == "estimated from the class table of cortex-m4, zero wait states"
    devices = [emulated_dut(image.board, image.firmware.elf)] * 2
    entries = read_dataset(image.bench, DATASETS, 60)
    with Session(tmp_path / "run", {"bench": "kws01"}) as session:
        run_accuracy(image.bench, entries[:20], devices[:1], session)
    with Session(tmp_path / "run", {"bench": "kws01"}) as session:
        assert len(session.answers) == 20
        found = run_accuracy(image.bench, entries, devices, session)
    assert (found.samples, found.right, found.retries, found.complete) == (60, 57, 0, False)
    assert "Top 1% = 95.0" in (tmp_path / "run" / "results.txt").read_text()
    with pytest.raises(TinyDeployError, match="holds a run of"):
        Session(tmp_path / "run", {"bench": "ad01"})


@needs_shared
def test_an_anomaly_window_and_its_error(tmp_path: Path) -> None:
    """The device's mean squared error is that of the reference, to the printed digit."""
    image = built("ad01", "nucleo-f746", tmp_path)
    recording = (DATASETS / "ad01" / "normal_id_01_00000000_hist_librosa.bin").read_bytes()
    graph = image.compiled.graph
    (source,), (output,) = graph.inputs, graph.outputs
    scales = graph.type(source).quant, graph.type(output).quant
    assert scales[0] is not None
    assert scales[1] is not None
    with emulated_dut(image.board, image.firmware.elf)(lambda _line: None) as dut:
        for start in range(0, 2560, 512):
            window = recording[start : start + 2560]
            values = np.frombuffer(window, "<f4").astype(np.float32)
            steps = np.round(values / np.float32(scales[0].scale)) + scales[0].zero_point
            data = np.clip(steps, -128, 127).astype(np.int8).reshape(graph.type(source).shape)
            (found,) = Interpreter(graph).run([data])
            real = (found.astype(np.float32) - scales[1].zero_point) * np.float32(scales[1].scale)
            dut.load(window)
            (error,) = dut.infer(1, 0).results
            assert abs(error - float(np.mean((real - values) ** 2))) <= 1e-3


@needs_shared
def test_energy_firmware_pulses_its_timing_pin(tmp_path: Path) -> None:
    from tinydeploy.emulate.chip import UnicornEmulator

    image = built("ad01", "nucleo-f746", tmp_path, Mode.ENERGY)
    assert image.board.uart is not None
    assert image.board.uart.baud == 9600
    with UnicornEmulator(image.board) as emulator:
        emulator.start(image.firmware.elf)
        dut = Dut(emulator.uart)
        assert dut.mode is Mode.ENERGY
        before = len(emulator.machine.edges)
        dut.load(bytes(2560))
        assert dut.infer(2, 0).elapsed_us is None
        edges = [edge for edge in list(emulator.machine.edges)[before:] if edge.port == "gpiof"]
    assert [(edge.pin, edge.high) for edge in edges] == [(13, False), (13, True)] * 2
    falls = [edge.cycles for edge in edges if not edge.high]
    assert falls[1] - falls[0] > 2 * 300_000  # two runs lie between the pulses


@needs_shared
def test_the_protocol_on_a_pty_glued_and_split(tmp_path: Path) -> None:
    """Case g14: the same answers whether commands come in one write or byte by byte."""
    image = built("kws01", "nucleo-f746", tmp_path)
    data = (DATASETS / "kws01" / "tst_000000_Stop_7.bin").read_bytes()
    commands = ["name", "junk", "profile", "timestamp", "db load 490"]
    commands += [f"db {data[start : start + 31].hex()}" for start in range(0, 490, 31)]
    commands += ["infer 10 1", "results", "db 0"]
    assert max(map(len, commands)) <= 80
    text = "".join(f"{command}%" for command in commands).encode()
    answers: list[list[str]] = []
    with (
        start_emulator(image.board, image.firmware.elf) as emulator,
        pty_of(emulator.uart) as path,
        serial.Serial(path, 115200, timeout=20) as port,
    ):
        assert port.read_until(b"m-ready\r\n").endswith(b"m-init-done\r\nm-ready\r\n")
        for pieces in ([text], [bytes([byte]) for byte in text]):
            for piece in pieces:
                port.write(piece)
            lines = [port.read_until(b"m-ready\r\n").decode() for _ in commands]
            answers.append([re.sub(r"m-lap-us-\d+", "m-lap-us-N", line) for line in lines])
    assert answers[0] == answers[1]
    first = answers[0]
    assert first[0] == "m-name-dut-[tinydeploy]\r\nm-ready\r\n"
    assert first[1] == "e-[Unknown command: junk]\r\nm-ready\r\n"
    assert "m-model-[kws01]" in first[2]
    assert first[3] == "m-lap-us-N\r\nm-ready\r\n"
    assert first[4] == "m-[Expecting 490 bytes]\r\nm-ready\r\n"
    assert first[-4] == "m-load-done\r\nm-ready\r\n"
    assert first[-3].startswith("m-warmup-start-1\r\nm-warmup-done\r\nm-infer-start-10\r\nm-lap-us-N\r\n")
    assert first[-2] in first[-3]
    assert first[-1] == "e-[Insufficent number of hex digits]\r\nm-ready\r\n"
