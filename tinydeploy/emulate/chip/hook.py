"""The C block hook: built once per machine with whatever compiler there is, shared memory with Python."""

from __future__ import annotations

import ctypes
import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from tinydeploy.errors import ToolError
from tinydeploy.resources import cache_dir
from tinydeploy.toolchain import HOST, select

SOURCE = Path(__file__).with_name("block_hook.c")
NEVER = 2**64 - 1
_REGIONS = 16


class HookRegion(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("bytes", ctypes.c_void_p),
        ("known", ctypes.c_void_p),
    ]


class HookState(ctypes.Structure):
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
        ("regions", HookRegion * _REGIONS),
    ]
    instructions: int
    before: int
    deadline: int
    stop: int
    interrupt: int
    stopped: int


class BlockHook:
    """The compiled hook and its state. Raises ToolError where no compiler is there or it fails."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(build_hook()))
        self.address = ctypes.cast(self._library.td_block_hook, ctypes.c_void_p)
        self.state = HookState(deadline=NEVER)
        self._known: list[Any] = []

    def connect(self, unicorn_library: ctypes.CDLL, primask: int) -> None:
        """Give the hook Unicorn's functions and the number of its PRIMASK register."""
        state = self.state
        for name in ("emu_stop", "reg_read"):
            function = getattr(unicorn_library, f"uc_{name}")
            setattr(state, name, ctypes.cast(function, ctypes.c_void_p).value)
        state.primask = primask

    def add_region(self, base: int, size: int, memory: int, *, constant: bool) -> None:
        """Memory that code may run from; ``constant`` where it never changes, so that counts can be kept."""
        state = self.state
        if state.region_count == _REGIONS:
            raise ToolError(f"an emulated chip can have at most {_REGIONS} regions")
        known = (ctypes.c_uint64 * (size // 2))() if constant else None
        self._known.append(known)
        address = ctypes.addressof(known) if known is not None else None
        state.regions[state.region_count] = HookRegion(base, size, memory, address)
        state.region_count += 1


def build_hook() -> Path:
    """The compiled library in the user's cache; its name holds the digest of the source."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = cache_dir() / "block-hook"
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    library = folder / f"{digest}{suffix}"
    if not library.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        toolchain = select(None, HOST)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            objects = toolchain.compile([SOURCE], out_dir=Path(work), optimize="-O2", extra=("-fPIC",))
            toolchain.link_shared(objects, Path(work) / library.name).replace(library)
    return library
