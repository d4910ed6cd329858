"""Block hooks: what Unicorn calls at the start of every translation block, to count and to stop.

A stop from inside the hook leaves the core at a block's start with exact counts; Unicorn's stops from other
threads do neither, so that nobody uses them. The hook is C, built once per machine with whatever compiler
there is; without a compiler it is Python, with the same counts and a hundredth of the speed.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any, Protocol

from tinydeploy.emulate.chip.engine import arm, library, unicorn
from tinydeploy.errors import ToolError
from tinydeploy.resources import cache_dir
from tinydeploy.toolchain import HOST, select

SOURCE = Path(__file__).with_name("block_hook.c")
NEVER = 2**64 - 1
_REGIONS = 16


class State(Protocol):
    """What a hook and the machine tell each other.

    ``instructions``: in all blocks begun; ``before``: the same at the present block's start;
    ``deadline``: stop at the first block from there on; ``stop``: stop at the next block; ``interrupt``: stop
    at the next block that runs with PRIMASK clear; ``stopped``: set by the hook when it stopped.
    """

    instructions: int
    before: int
    deadline: int
    stop: int
    interrupt: int
    stopped: int


class Hook(Protocol):
    @property
    def state(self) -> State: ...

    def add_region(self, base: int, size: int, memory: ctypes.Array[Any], *, constant: bool) -> None:
        """Memory that code may run from; ``constant`` where it never changes, so that counts can be kept."""

    def install(self, engine: Any) -> None:
        """Attach the hook to a Unicorn engine, for good."""


class _Region(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("bytes", ctypes.c_void_p),
        ("known", ctypes.c_void_p),
    ]


class _SharedState(ctypes.Structure):
    """The ``hook_state`` of block_hook.c, field by field."""

    _fields_ = [
        ("instructions", ctypes.c_uint64),
        ("before", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("stop", ctypes.c_uint32),
        ("interrupt", ctypes.c_uint32),
        ("stopped", ctypes.c_uint32),
        ("primask", ctypes.c_int32),
        ("emu_stop", ctypes.c_void_p),
        ("reg_read", ctypes.c_void_p),
        ("region_count", ctypes.c_uint64),
        ("regions", _Region * _REGIONS),
    ]
    instructions: int
    before: int
    deadline: int
    stop: int
    interrupt: int
    stopped: int


class CompiledHook:
    """The hook in C. Raises ToolError where no compiler is there or it fails."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(build_hook()))
        self._state = _SharedState(
            deadline=NEVER,
            primask=arm.UC_ARM_REG_PRIMASK,
            emu_stop=ctypes.cast(library.uc_emu_stop, ctypes.c_void_p).value,
            reg_read=ctypes.cast(library.uc_reg_read, ctypes.c_void_p).value,
        )
        self._known: list[Any] = []

    @property
    def state(self) -> State:
        return self._state

    def add_region(self, base: int, size: int, memory: ctypes.Array[Any], *, constant: bool) -> None:
        state = self._state
        if state.region_count == _REGIONS:
            raise ToolError(f"an emulated chip can have at most {_REGIONS} regions")
        known = (ctypes.c_uint64 * (size // 2))() if constant else None
        self._known.append(known)
        address = ctypes.addressof(known) if known is not None else None
        state.regions[state.region_count] = _Region(base, size, ctypes.addressof(memory), address)
        state.region_count += 1

    def install(self, engine: Any) -> None:
        handle = ctypes.c_size_t()
        status = library.uc_hook_add(
            engine._uch,
            ctypes.byref(handle),
            unicorn.UC_HOOK_BLOCK,
            ctypes.cast(self._library.td_block_hook, ctypes.c_void_p),
            ctypes.byref(self._state),
            ctypes.c_uint64(1),  # everywhere
            ctypes.c_uint64(0),
        )
        if status != unicorn.UC_ERR_OK:
            raise unicorn.UcError(status)


class _PlainState:
    def __init__(self) -> None:
        self.instructions = 0
        self.before = 0
        self.deadline = NEVER
        self.stop = 0
        self.interrupt = 0
        self.stopped = 0


class PythonHook:
    """The hook in Python: the same rules as block_hook.c."""

    def __init__(self) -> None:
        self._state = _PlainState()
        self._regions: list[tuple[int, int, ctypes.Array[Any], bool]] = []
        self._known: dict[tuple[int, int], int] = {}

    @property
    def state(self) -> State:
        return self._state

    def add_region(self, base: int, size: int, memory: ctypes.Array[Any], *, constant: bool) -> None:
        self._regions.append((base, base + size, memory, constant))

    def install(self, engine: Any) -> None:
        engine.hook_add(unicorn.UC_HOOK_BLOCK, self._on_block)

    def _on_block(self, engine: Any, address: int, size: int, _data: object) -> None:
        state = self._state
        unmasked = state.interrupt and not engine.reg_read(arm.UC_ARM_REG_PRIMASK) & 1
        if state.stop or unmasked or state.instructions >= state.deadline:
            state.stopped = 1
            engine.emu_stop()
            return
        state.before = state.instructions
        state.instructions += self._known.get((address, size)) or self._count(address, size)

    def _count(self, address: int, size: int) -> int:
        for base, end, memory, constant in self._regions:
            if base <= address < end:
                count = count_instructions(bytes(memory[address - base : address - base + size]))
                if constant:
                    self._known[address, size] = count
                return count
        return size // 2


def count_instructions(code: bytes) -> int:
    """How many Thumb instructions there are: halfwords from 11101 on begin one of four bytes."""
    at = count = 0
    while at < len(code):
        at += 4 if code[at + 1] & 0xF8 >= 0xE8 else 2
        count += 1
    return count


def make_hook() -> Hook:
    """The fastest hook that this machine can have."""
    try:
        return CompiledHook()
    except (ToolError, OSError):  # no compiler, or no room for what it makes
        return PythonHook()


def build_hook(source: Path = SOURCE) -> Path:
    """The compiled library in the user's cache; its name holds the digest of the source."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    folder = cache_dir() / "block-hook"
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    built = folder / f"{digest}{suffix}"
    if not built.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        toolchain = select(None, HOST)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            objects = toolchain.compile([source], out_dir=Path(work), optimize="-O2", extra=("-fPIC",))
            toolchain.link_shared(objects, Path(work) / built.name).replace(built)
    return built
