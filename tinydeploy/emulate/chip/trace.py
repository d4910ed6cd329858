"""Which blocks a function executes, with all that it calls: read from the C half, ``block_trace.c``."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from tinydeploy.emulate.chip.engine import arm, library, unicorn
from tinydeploy.emulate.chip.hook import build_hook
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Block

SOURCE = Path(__file__).with_name("block_trace.c")
_NOWHERE = 1  # odd: no block begins there
_ENTRIES = 1 << 16


class _Entry(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint32),
        ("window", ctypes.c_uint32),
        ("count", ctypes.c_uint64),
        ("taken", ctypes.c_uint64),
        ("through", ctypes.c_uint64),
    ]


class _State(ctypes.Structure):
    """The ``trace_state`` of block_trace.c, field by field."""

    _fields_ = [
        ("entry", ctypes.c_uint64),
        ("leave", ctypes.c_uint64),
        ("previous_end", ctypes.c_uint64),
        ("previous", ctypes.c_void_p),
        ("entries", ctypes.c_void_p),
        ("entry_mask", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("reg_read", ctypes.c_void_p),
        ("windows", ctypes.c_uint32),
        ("is_full", ctypes.c_uint32),
        ("link", ctypes.c_int32),
    ]


class BlockTrace:
    """Records windows: from each call of one function to its return. Begin and read while the chip sleeps.

    Raises ToolError where there is no compiler for the C half.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(build_hook(SOURCE)))
        self._entries: Any = (_Entry * _ENTRIES)()
        self._state: Any = _State(
            entry=_NOWHERE,
            entries=ctypes.addressof(self._entries),
            entry_mask=_ENTRIES - 1,
            reg_read=ctypes.cast(library.uc_reg_read, ctypes.c_void_p).value,
            link=arm.UC_ARM_REG_LR,
        )

    def install(self, engine: Any) -> None:
        """Attach to a Unicorn engine behind its block hook, before it executes anything."""
        handle = ctypes.c_size_t()
        status = library.uc_hook_add(
            engine._uch,
            ctypes.byref(handle),
            unicorn.UC_HOOK_BLOCK,
            ctypes.cast(self._library.td_block_trace, ctypes.c_void_p),
            ctypes.byref(self._state),
            ctypes.c_uint64(1),  # everywhere
            ctypes.c_uint64(0),
        )
        if status != unicorn.UC_ERR_OK:
            raise unicorn.UcError(status)

    def begin(self, function: int) -> None:
        """Forget what was recorded; from now on record the calls of the function at this address."""
        state = self._state
        state.entry = _NOWHERE
        state.previous = None
        ctypes.memset(self._entries, 0, ctypes.sizeof(self._entries))
        state.used = state.windows = state.is_full = 0
        state.entry = function

    def windows(self) -> list[list[Block]]:
        """The blocks of each call so far. Raises ToolError where there were more than are kept."""
        if self._state.is_full:
            raise ToolError(f"a trace keeps at most {_ENTRIES // 2} blocks", fix="Trace a shorter function")
        found: list[list[Block]] = [[] for _ in range(self._state.windows)]
        for entry in self._entries:
            if entry.count:
                block = Block(entry.address, entry.size, entry.count, entry.taken, entry.through)
                found[entry.window - 1].append(block)
        return [sorted(blocks, key=lambda block: (block.address, block.size)) for blocks in found]
