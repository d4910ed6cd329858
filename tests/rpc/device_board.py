"""The C server on a board of memory, built for this machine: a library in this process, or a program."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

from tinydeploy.rpc.frame import CRC_BYTES

ROOT = Path(__file__).resolve().parents[2]
RPC = ROOT / "runtime_c" / "rpc"
DEVICE = Path(__file__).resolve().parent / "device"
SOURCES = [*sorted(RPC.glob("*.c")), DEVICE / "fake_model.c", DEVICE / "board.c"]
INCLUDES = [f"-I{ROOT / 'runtime_c' / 'include'}", f"-I{RPC}", f"-I{DEVICE}"]
WARNINGS = [
    *("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Wundef", "-Werror"),
    *("-Wmissing-prototypes", "-Wstrict-prototypes", "-Wdouble-promotion"),
]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
OUTPUT_BYTES = 1 << 20


def compiler() -> str:
    """The C compiler of this machine."""
    found = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    assert found, "the tests of the RPC need a C compiler: apt-get install gcc"
    return found


def compile_board(main: str, to: Path, *flags: str, level: int = 2) -> Path:
    """Builds `device/MAIN.c` with the server, the board and the fake model."""
    command = [compiler(), "-std=gnu11", "-O1", *WARNINGS, f"-DTD_RPC_LEVEL={level}", *INCLUDES, *flags]
    sources = [str(source) for source in (*SOURCES, DEVICE / f"{main}.c")]
    subprocess.run([*command, *sources, "-o", str(to)], check=True)
    return to


class Options(ctypes.Structure):
    """board_options."""

    _fields_ = (
        ("arena_bytes", ctypes.c_size_t),
        ("untraced", ctypes.c_bool),
        ("no_counter", ctypes.c_bool),
        ("no_reset", ctypes.c_bool),
        ("no_memory_limits", ctypes.c_bool),
    )


class Faults(ctypes.Structure):
    """fake_faults."""

    _fields_ = (
        ("flip_instance_plus_1", ctypes.c_uint32),
        ("flip_row", ctypes.c_uint32),
        ("flip_only_in_run", ctypes.c_uint32),
        ("extra_instances", ctypes.c_uint32),
        ("fail", ctypes.c_int),
        ("never_done", ctypes.c_bool),
    )


class Board:
    """The board in this process. `boot` is its power switch; there is one per library."""

    def __init__(self, library: Path) -> None:
        self._c = ctypes.CDLL(str(library))
        self._c.board_scratch.restype = ctypes.c_void_p
        self._c.board_sent.restype = ctypes.c_size_t
        self._c.library_encode.restype = ctypes.c_size_t
        self._c.library_decode.restype = ctypes.c_size_t
        self._c.library_crc32.restype = ctypes.c_uint32
        self._c.library_faults.restype = ctypes.POINTER(Faults)
        self._output = ctypes.create_string_buffer(OUTPUT_BYTES)
        self.boot()

    def boot(self, **options: int) -> None:
        """Power off and on, without faults."""
        ctypes.memset(self._c.library_faults(), 0, ctypes.sizeof(Faults))
        self._c.board_boot(ctypes.byref(Options(**options)))

    def receive(self, data: bytes) -> None:
        """Bytes reach the ring; the main loop does not run."""
        self._c.board_receive(data, ctypes.c_size_t(len(data)))

    def poll(self) -> bytes:
        """The main loop runs until nothing is left to do; what it sent."""
        self._c.board_poll()
        size = self._c.board_sent(self._output, ctypes.c_size_t(OUTPUT_BYTES))
        return ctypes.string_at(self._output, size)

    @property
    def faults(self) -> Faults:
        """How the model misbehaves; assign to its fields."""
        faults: Faults = self._c.library_faults().contents
        return faults

    @property
    def runs(self) -> int:
        """Runs completed since boot."""
        return int(self._c.library_runs())

    @property
    def counter(self) -> int:
        """The model's state variable."""
        return int(self._c.board_counter())

    @property
    def lost(self) -> int:
        """Bytes that the ring had no room for."""
        return int(self._c.board_lost())

    @property
    def resets(self) -> int:
        """Restarts that the host asked for."""
        return int(self._c.board_resets())

    @property
    def scratch(self) -> int:
        """Address of the 64 bytes that a debug session may touch."""
        return int(self._c.board_scratch())

    def encode(self, body: bytes) -> bytes:
        """td_cobs_write."""
        to = ctypes.create_string_buffer(2 * len(body) + 16)
        return ctypes.string_at(to, self._c.library_encode(body, ctypes.c_size_t(len(body)), to))

    def decode(self, line: bytes, max_body_bytes: int) -> list[bytes]:
        """td_cobs_feed over a whole line."""
        to = ctypes.create_string_buffer(5 * len(line) + 16)
        used = self._c.library_decode(line, ctypes.c_size_t(len(line)), ctypes.c_size_t(max_body_bytes), to)
        found, bodies = ctypes.string_at(to, used), []
        while found:
            size = int.from_bytes(found[:CRC_BYTES], "little")
            bodies.append(found[4 : 4 + size])
            found = found[4 + size :]
        return bodies

    def crc32(self, crc: int, data: bytes) -> int:
        """td_crc32."""
        return int(self._c.library_crc32(ctypes.c_uint32(crc), data, ctypes.c_size_t(len(data))))
