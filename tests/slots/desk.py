"""A board with slots in this process, a line to it, and trainings of one network."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.quantize.networks import convolutional, graph_of, images
from tests.rpc.device_board import ROOT, WARNINGS, compiler
from tests.rpc.lines import Line
from tests.tflite_builder import ModelBuilder
from tinydeploy.build import Compiled, compile_graph, write_files
from tinydeploy.codegen import Library
from tinydeploy.frontends import load
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize import Options, quantize
from tinydeploy.rpc import Client

RUNTIME = ROOT / "runtime_c"
DEVICE = Path(__file__).resolve().parent / "device" / "device.c"
OUTPUT_BYTES = 1 << 16


def small(folder: Path, seed: int, *, activation: str = "RELU", classes: int = 3) -> Path:
    """A training of a small network: other weights, other scales, other zero points for each seed."""
    builder = ModelBuilder(seed=seed).input((1, 6, 6, 2), zero_point=seed - 128, scale=1 / (250 + seed))
    builder.conv2d(4, (3, 3), activation=activation, scale=0.04 + seed * 0.001, zero_point=-128)
    builder.depthwise(1, (3, 3), stride=(2, 2), zero_point=seed - 3).reshape((1, 36))
    builder.fully_connected(classes, scale=0.1 + seed * 0.03).softmax()
    path = folder / f"small_{seed}_{activation}_{classes}.tflite"
    path.write_bytes(builder.build())
    return path


def quantized(seed: int, *, weight_bits: int = 8) -> Graph:
    """A float network of random weights after its calibration."""
    options = Options(weight_bits=weight_bits)
    return quantize(graph_of(convolutional(seed=seed)), images(24, seed=seed + 5), options).integer


def compiled(model: Path | Graph, core: str = "host") -> Compiled:
    """A model with slots."""
    graph = load(model) if isinstance(model, Path) else model
    return compile_graph(graph, target_of(core), name="net", slots=True)


def samples_of(graph: Graph, count: int = 3) -> list[tuple[Array, ...]]:
    """Random inputs of an integer graph, the same for every training."""
    random = np.random.default_rng(7)
    types = [graph.type(value) for value in graph.inputs]
    return [
        tuple(
            random.integers(-128, 128, type_.shape).astype(type_.dtype.numpy)
            if type_.dtype.is_integer
            else random.standard_normal(type_.shape).astype(np.float32)
            for type_ in types
        )
        for _ in range(count)
    ]


class Expected:
    """What a training computes for some inputs, by the reference; computed once."""

    def __init__(self, model: Compiled) -> None:
        self.model = model
        self.hash = int(model.library.hash, 16)
        self.samples = samples_of(model.graph)
        self.outputs = [Interpreter(model.graph).run(sample) for sample in self.samples]

    def check(self, client: Client) -> None:
        """The device computes the same, bit by bit, and describes itself as that model."""
        assert client.describe().hash == self.hash
        for sample, outputs in zip(self.samples, self.outputs, strict=True):
            for got, wanted in zip(client.infer(sample).outputs, outputs, strict=True):
                np.testing.assert_array_equal(got, wanted)


def build_desk(library: Library, folder: Path, program_bytes: int = 8) -> Path:
    """The board with a model as a shared library."""
    write_files({**library.files, **library.descriptor}, folder)
    sources = [
        *sorted((RUNTIME / "rpc").glob("*.c")),
        *sorted((RUNTIME / "slots").glob("*.c")),
        *(folder / name for name in (*library.sources, *library.descriptor)),
        DEVICE,
    ]
    includes = [folder, *(RUNTIME / name for name in ("include", "rpc", "slots"))]
    to = folder / "desk.so"
    command = [
        *(compiler(), "-std=gnu11", "-O1", "-shared", "-fPIC", *WARNINGS),
        *("-fsanitize=undefined", "-fno-sanitize-recover=all"),
        *("-DTD_SLOTS=1", "-DTD_TRACE=1", f"-DPROGRAM_BYTES={program_bytes}u"),
        *(f"-I{path}" for path in includes),
        *map(str, sources),
    ]
    subprocess.run([*command, "-o", str(to)], check=True)
    return to


class Desk:
    """The board in this process. ``boot`` is its power switch; what is in flash stays."""

    def __init__(self, library: Path) -> None:
        self._c = ctypes.CDLL(str(library))
        self._c.device_flash.restype = ctypes.c_void_p
        for name in ("device_sent", "device_flash_bytes"):
            getattr(self._c, name).restype = ctypes.c_size_t
        self._output = ctypes.create_string_buffer(OUTPUT_BYTES)
        self.flash = b"\xff" * self._c.device_flash_bytes()
        self.boot()

    def boot(self) -> None:
        self._c.device_boot()

    def receive(self, data: bytes) -> None:
        self._c.device_receive(data, ctypes.c_size_t(len(data)))

    def poll(self) -> bytes:
        self._c.device_poll()
        return ctypes.string_at(self._output, self._c.device_sent(self._output))

    @property
    def flash(self) -> bytes:
        """The content of both slots."""
        return ctypes.string_at(self._c.device_flash(), self._c.device_flash_bytes())

    @flash.setter
    def flash(self, content: bytes) -> None:
        ctypes.memmove(self._c.device_flash(), content, len(content))

    def cut(self, operation: int, seed: int = 1) -> None:
        """Let the power fail within an operation from now on, counted from 1; 0: never."""
        self._c.device_cut(ctypes.c_uint32(operation), ctypes.c_uint32(seed))

    @property
    def operations(self) -> int:
        """Erasures and program operations since boot or ``cut``."""
        return int(self._c.device_operations())

    @property
    def faults(self) -> int:
        """Accesses that no flash would take: out of place, or cells written twice."""
        return int(self._c.device_faults())

    def fail(self, *, fails: bool) -> None:
        """Let the flash report errors."""
        self._c.device_fail(ctypes.c_bool(fails))

    def trust(self, key: bytes | None) -> None:
        """Trust what is signed with a key of 16 bytes; None: everything."""
        self._c.device_trust(key)

    def sha256(self, data: bytes) -> bytes:
        digest = ctypes.create_string_buffer(32)
        self._c.td_sha256(data, ctypes.c_size_t(len(data)), digest)
        return digest.raw

    def connect(self) -> Client:
        line = DeskLine(self)
        return Client.connect(line, clock=line.clock)


class DeskLine(Line):
    """Everything arrives at once; ``after`` is asked before each request whether the line still works."""

    def __init__(self, desk: Desk, works: Callable[[], bool] = lambda: True) -> None:
        super().__init__("desk")
        self._desk = desk
        self._works = works
        self._waiting = b""

    def write(self, data: bytes) -> None:
        if self._works():
            self._desk.receive(data)
            self._waiting += self._desk.poll()

    def read(self, timeout_s: float) -> bytes:
        received, self._waiting = self._waiting, b""
        if not received:
            self.now += timeout_s
        return received
