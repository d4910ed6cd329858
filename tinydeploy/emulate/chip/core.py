"""A Cortex-M core on Unicorn: its memory, and the exceptions that Unicorn leaves to its user."""

from __future__ import annotations

import ctypes
import mmap
import struct

from tinydeploy.boards import Chip, Kind
from tinydeploy.emulate.chip.bus import PAGE, Bus
from tinydeploy.emulate.chip.engine import arm, unicorn
from tinydeploy.emulate.chip.hook import Hook, State

_MODELS = {
    "cortex-m0": arm.UC_CPU_ARM_CORTEX_M0,
    "cortex-m0plus": arm.UC_CPU_ARM_CORTEX_M0,
    "cortex-m3": arm.UC_CPU_ARM_CORTEX_M3,
    "cortex-m4": arm.UC_CPU_ARM_CORTEX_M4,
    "cortex-m7": arm.UC_CPU_ARM_CORTEX_M7,
    "cortex-m33": arm.UC_CPU_ARM_CORTEX_M33,
}
SUPPORTED = tuple(_MODELS)

_FRAME = (
    arm.UC_ARM_REG_R0,
    arm.UC_ARM_REG_R1,
    arm.UC_ARM_REG_R2,
    arm.UC_ARM_REG_R3,
    arm.UC_ARM_REG_R12,
    arm.UC_ARM_REG_LR,
)
_FLOATS = tuple(arm.UC_ARM_REG_S0 + index for index in range(16))
_FRAME_BYTES = 32
_FLOAT_BYTES = 72
_XPSR_REALIGNED = 1 << 9
_XPSR_THUMB = 1 << 24
_CONTROL_FPCA = 1 << 2
_CONTROL_SPSEL = 1 << 1
_RETURN_BASIC = 1 << 4
_RETURN_THREAD = 1 << 3
_RETURN_PSP = 1 << 2
_WORD = 0xFFFF_FFFF


class Core:
    """Registers, memory and exception entry and return. Time and interrupts belong to ``machine``."""

    def __init__(self, chip: Chip, bus: Bus, hook: Hook) -> None:
        self.engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.engine.ctl_set_cpu_model(_MODELS[chip.cpu])
        self.active: list[int] = []
        self._memories = [_memory(region.size) for region in chip.regions]
        for region, memory in zip(chip.regions, self._memories, strict=True):
            access = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
            access |= unicorn.UC_PROT_WRITE if region.kind is Kind.RAM else 0
            for origin in (region.origin, region.alias):
                if origin is not None:
                    self.engine.mem_map_ptr(origin, region.size, access, ctypes.addressof(memory))
                    hook.add_region(origin, region.size, memory, constant=region.kind is Kind.FLASH)
        self._hook = hook  # its memory must live as long as the engine
        self._names = tuple(region.name for region in chip.regions)
        hook.install(self.engine)
        for page in bus.pages():
            self._map_page(bus, page)

    @property
    def hook_state(self) -> State:
        """The block hook's state, for whoever executes code beside the machine."""
        return self._hook.state

    def memory(self, region: str) -> ctypes.Array[ctypes.c_char]:
        """The bytes behind a region."""
        return self._memories[self._names.index(region)]

    def load(self, address: int, data: bytes) -> None:
        """Put bytes into memory, flash included; raises UcError where there is none."""
        self.engine.mem_write(address, data)

    def reset(self, vectors: int) -> None:
        """Load stack pointer and program counter from the vector table."""
        self.active.clear()
        stack, entry = struct.unpack("<II", self.engine.mem_read(vectors, 8))
        self.engine.reg_write(arm.UC_ARM_REG_CONTROL, 0)
        self.engine.reg_write(arm.UC_ARM_REG_PRIMASK, 0)
        self.engine.reg_write(arm.UC_ARM_REG_XPSR, _XPSR_THUMB)
        self.engine.reg_write(arm.UC_ARM_REG_MSP, stack)
        self.engine.reg_write(arm.UC_ARM_REG_LR, _WORD)
        self.pc = entry

    @property
    def pc(self) -> int:
        return self._read(arm.UC_ARM_REG_PC)

    @pc.setter
    def pc(self, value: int) -> None:
        self.engine.reg_write(arm.UC_ARM_REG_PC, value | 1)

    @property
    def masked(self) -> bool:
        """Whether PRIMASK keeps interrupts out."""
        return bool(self._read(arm.UC_ARM_REG_PRIMASK) & 1)

    def enter(self, exception: int, vectors: int) -> bool:
        """Take an exception (Armv7-M ARM B1.5.6): push the frame, go to the handler.

        False where the frame could not be pushed; the handler runs nevertheless.
        """
        control = self._read(arm.UC_ARM_REG_CONTROL)
        floats = bool(control & _CONTROL_FPCA)
        on_psp = bool(control & _CONTROL_SPSEL) and not self.active
        pushed = self._push(floats)
        link = 0xFFFF_FFE1 | (0 if floats else _RETURN_BASIC)
        if not self.active:
            link |= _RETURN_THREAD | (_RETURN_PSP if on_psp else 0)
        self.engine.reg_write(arm.UC_ARM_REG_CONTROL, control & ~(_CONTROL_FPCA | _CONTROL_SPSEL))
        xpsr = self._read(arm.UC_ARM_REG_XPSR) & ~0x0700_FDFF  # IT, ICI and the exception number
        self.engine.reg_write(arm.UC_ARM_REG_XPSR, xpsr | _XPSR_THUMB | exception)
        self.engine.reg_write(arm.UC_ARM_REG_LR, link)
        self.active.append(exception)
        (handler,) = struct.unpack("<I", self.engine.mem_read(vectors + 4 * exception, 4))
        self.pc = handler
        return pushed

    def leave(self, link: int) -> None:
        """Return from an exception (B1.5.8); ``link`` is the EXC_RETURN value that was branched to."""
        self.active.pop()
        control = self._read(arm.UC_ARM_REG_CONTROL) & ~(_CONTROL_FPCA | _CONTROL_SPSEL)
        control |= _CONTROL_SPSEL if link & _RETURN_PSP else 0
        control |= 0 if link & _RETURN_BASIC else _CONTROL_FPCA
        # To thread mode first: only there does CONTROL choose the stack.
        self.engine.reg_write(arm.UC_ARM_REG_XPSR, _XPSR_THUMB | (self.active[-1] if self.active else 0))
        self.engine.reg_write(arm.UC_ARM_REG_CONTROL, control)
        self._pop(floats=not link & _RETURN_BASIC)

    def _push(self, floats: bool) -> bool:
        stack = self._read(arm.UC_ARM_REG_SP)
        size = _FRAME_BYTES + (_FLOAT_BYTES if floats else 0)
        realigned = bool(stack & 4)
        base = (stack - size) & ~7 & _WORD
        xpsr = self._read(arm.UC_ARM_REG_XPSR) & ~_XPSR_REALIGNED | (_XPSR_REALIGNED if realigned else 0)
        words = [self._read(register) for register in _FRAME] + [self.pc & ~1, xpsr]
        if floats:
            words += [self._read(register) for register in _FLOATS] + [self._read(arm.UC_ARM_REG_FPSCR), 0]
        self.engine.reg_write(arm.UC_ARM_REG_SP, base)
        try:
            self.engine.mem_write(base, struct.pack(f"<{len(words)}I", *words))
        except unicorn.UcError:
            return False
        return True

    def _pop(self, *, floats: bool) -> None:
        stack = self._read(arm.UC_ARM_REG_SP)
        size = _FRAME_BYTES + (_FLOAT_BYTES if floats else 0)
        words = struct.unpack(f"<{size // 4}I", self.engine.mem_read(stack, size))
        for register, value in zip(_FRAME, words, strict=False):
            self.engine.reg_write(register, value)
        if floats:
            for register, value in zip(_FLOATS, words[8:24], strict=True):
                self.engine.reg_write(register, value)
            self.engine.reg_write(arm.UC_ARM_REG_FPSCR, words[24])
        xpsr = words[7]
        self.engine.reg_write(arm.UC_ARM_REG_XPSR, xpsr & ~_XPSR_REALIGNED)
        self.engine.reg_write(arm.UC_ARM_REG_SP, stack + size + (4 if xpsr & _XPSR_REALIGNED else 0))
        self.pc = words[6]

    def _read(self, register: int) -> int:
        return int(self.engine.reg_read(register))

    def _map_page(self, bus: Bus, page: int) -> None:
        def read(_engine: object, offset: int, size: int, _data: object) -> int:
            return bus.read(page + offset, size)

        def write(_engine: object, offset: int, size: int, value: int, _data: object) -> None:
            bus.write(page + offset, size, value)

        self.engine.mmio_map(page, PAGE, read, None, write, None)


def _memory(size: int) -> ctypes.Array[ctypes.c_char]:
    """Zeroed bytes at a fixed address, which Unicorn and the hook share; pages come when touched."""
    return (ctypes.c_char * size).from_buffer(mmap.mmap(-1, size))
