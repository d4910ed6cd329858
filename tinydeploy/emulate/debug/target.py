"""A chip that a debugger holds: memory, the core's debug registers (Armv7-M C1.6), code that runs in slices.

While the debugger is connected the core executes only where the debugger looks, some instructions before each
read, and takes no interrupts: what flash loaders need. Once it leaves, the machine runs freely.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tinydeploy.boards import Board, Kind
from tinydeploy.emulate.chip.engine import arm, unicorn
from tinydeploy.emulate.chip.hook import NEVER
from tinydeploy.emulate.chip.machine import Machine
from tinydeploy.emulate.debug import st_flash_f7
from tinydeploy.emulate.debug.identity import rom_table
from tinydeploy.emulate.debug.st_flash_f7 import ProgrammableFlash
from tinydeploy.errors import ToolError

_DHCSR, _DCRSR, _DCRDR, _DEMCR = 0xE000_EDF0, 0xE000_EDF4, 0xE000_EDF8, 0xE000_EDFC
_DFSR, _AIRCR = 0xE000_ED30, 0xE000_ED0C
_KEY = 0xA05F
_DEBUG, _HALT, _STEP = 1, 2, 4
_READY, _HALTED, _LOCKED, _WAS_RESET = 1 << 16, 1 << 17, 1 << 19, 1 << 25
_DFSR_HALTED, _DFSR_BKPT, _DFSR_CATCH = 1, 2, 8
_CATCH_RESET = 1
_INTR_BKPT = 7
_SLICE = 20_000
_BKPT_OPCODE = 0xBE
_END = 0xFFFF_FFFE
_SYSTEM, _SYSTEM_END = 0xE000_0000, 0xE010_0000
_WORD = 0xFFFF_FFFF
_ERASED = 0xFF

_REGISTERS = {
    **{number: arm.UC_ARM_REG_R0 + number for number in range(13)},
    13: arm.UC_ARM_REG_SP,
    14: arm.UC_ARM_REG_LR,
    16: arm.UC_ARM_REG_XPSR,
    17: arm.UC_ARM_REG_MSP,
    18: arm.UC_ARM_REG_PSP,
    33: arm.UC_ARM_REG_FPSCR,
    **{64 + number: arm.UC_ARM_REG_S0 + number for number in range(32)},
}
_MASKS = (  # the bytes of register 20, lowest first
    arm.UC_ARM_REG_PRIMASK,
    arm.UC_ARM_REG_BASEPRI,
    arm.UC_ARM_REG_FAULTMASK,
    arm.UC_ARM_REG_CONTROL,
)


class DebugTarget:
    """The bus behind a ``DebugPort``. Its flash is erased at first; ``free`` lets the chip run without it.

    Raises ToolError for chips whose flash controller has no programming model.
    """

    def __init__(self, board: Board, machine: Machine) -> None:
        chip = board.chip
        regions = [region for region in chip.regions if region.kind is Kind.FLASH]
        blocks = [block for block in chip.blocks if block.type == "st_flash_f7"]
        if not blocks or len(regions) != 1 or chip.layout is None:
            raise ToolError("there is no model of how its flash is programmed", where=f"chip {chip.name}")
        self._machine = machine
        self._core = machine.core
        self._region = regions[0]
        self._memory = self._core.memory(self._region.name)
        self._flash = machine.bus.replace(
            blocks[0].name,
            lambda block, wires: ProgrammableFlash(block, wires, self._region, self._memory),
        )
        self._pages = frozenset(machine.bus.pages())
        self._control = 0
        self._catch = 0
        self._reason = 0
        self._transfer = 0
        self._was_reset = True
        self._halted = False
        self._locked = False
        self._trap: int | None = None
        self._unmodelled: dict[int, int] = {}  # registers of breakpoints and trace keep what is written
        self._hooks: list[Any] = []
        self._corrections: list[tuple[int, bytes]] = []
        self._fixed = {
            st_flash_f7.DEVICE_ID_AT: st_flash_f7.DEVICE_ID,
            st_flash_f7.FLASH_KIB_AT & ~3: self._region.size // 1024 << 16,
            **rom_table(),
        }
        ctypes.memset(ctypes.addressof(self._memory), _ERASED, self._region.size)
        self._attach()
        self.reset()

    _debug_registers = frozenset((_DHCSR, _DCRSR, _DCRDR, _DEMCR, _DFSR, _AIRCR))

    @property
    def content(self) -> bytes:
        """The bytes of the flash."""
        return bytes(self._memory)

    def reset(self) -> None:
        """What the reset pin does; the core halts where the debugger catches the reset."""
        self._machine.boot(self._region.origin)
        self._was_reset = True
        self._locked = False
        caught = bool(self._catch & _CATCH_RESET and self._control & _DEBUG)
        self._halted = caught
        self._reason |= _DFSR_CATCH if caught else 0

    def free(self) -> bool:
        """The debugger is gone; True where the core runs on, which is then the machine's own affair."""
        engine = self._core.engine
        for hook in self._hooks:
            engine.hook_del(hook)
        self._hooks = []
        engine.mem_protect(
            self._region.origin, self._region.size, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
        )
        runs = not self._halted and not self._locked
        self._control = 0
        return runs

    def read(self, address: int, size: int) -> int | None:
        self._run()
        if address & ~3 in self._debug_registers:
            return self._narrow(self._read_debug(address & ~3), address, size)
        if address & ~3 in self._fixed:
            return self._narrow(self._fixed[address & ~3], address, size)
        if address & -0x1000 in self._pages:
            return self._machine.bus.read(address, size)
        if _SYSTEM <= address < _SYSTEM_END:
            return self._narrow(self._unmodelled.get(address & ~3, 0), address, size)
        try:
            return int.from_bytes(self._core.engine.mem_read(address, size), "little")
        except unicorn.UcError:
            return None

    def write(self, address: int, size: int, value: int) -> bool:
        if address in self._debug_registers and size == 4:
            self._write_debug(address, value)
        elif address & -0x1000 in self._pages:
            self._machine.bus.write(address, size, value)
        elif self._region.origin <= address < self._region.end:
            offset = address - self._region.origin
            cells = self._flash.program(offset, size, value)
            self._core.engine.mem_write(address, cells.to_bytes(size, "little"))
        elif _SYSTEM <= address < _SYSTEM_END:
            self._unmodelled[address & ~3] = value
        else:
            try:
                self._core.engine.mem_write(address, value.to_bytes(size, "little"))
            except unicorn.UcError:
                return False
        return True

    @staticmethod
    def _narrow(word: int, address: int, size: int) -> int:
        return word >> 8 * (address & 3) & (1 << 8 * size) - 1

    def _read_debug(self, address: int) -> int:
        if address == _DHCSR:
            status = self._control | _READY
            status |= _HALTED if self._halted else 0
            status |= _LOCKED if self._locked else 0
            status |= _WAS_RESET if self._was_reset else 0
            self._was_reset = False
            return status
        if address == _AIRCR:
            return 0xFA05_0000
        return {_DCRDR: self._transfer, _DEMCR: self._catch, _DFSR: self._reason}.get(address, 0)

    def _write_debug(self, address: int, value: int) -> None:
        if address == _DHCSR:
            if value >> 16 == _KEY:
                self._command(value & 0xF)
        elif address == _DCRDR:
            self._transfer = value
        elif address == _DCRSR:
            self._move_register(value & 0x7F, to_core=bool(value >> 16 & 1))
        elif address == _DEMCR:
            self._catch = value
        elif address == _DFSR:
            self._reason &= ~value
        elif value >> 16 == 0x05FA and value & 0b101:  # AIRCR: SYSRESETREQ or VECTRESET
            self.reset()

    def _command(self, control: int) -> None:
        before, self._control = self._control, control
        if not control & _DEBUG:
            self._halted = False
        elif control & _HALT:
            self._reason |= 0 if self._halted else _DFSR_HALTED
            self._halted = True
        elif self._halted:
            self._halted = False
            self._locked = False
            self._core.engine.ctl_flush_tb()  # the debugger may have written code
            if control & _STEP and before & _DEBUG:
                self._core.engine.emu_start(self._core.pc | 1, _END, count=1)
                self._halted = True
                self._reason |= _DFSR_HALTED

    def _move_register(self, number: int, *, to_core: bool) -> None:
        engine = self._core.engine
        if number == 15:
            if to_core:
                self._core.pc = self._transfer
            else:
                self._transfer = self._core.pc & ~1
        elif number == 20:
            if to_core:
                for index, register in enumerate(_MASKS):
                    engine.reg_write(register, self._transfer >> 8 * index & 0xFF)
            else:
                values = bytes(engine.reg_read(register) & 0xFF for register in _MASKS)
                self._transfer = int.from_bytes(values, "little")
        elif number in _REGISTERS:
            if to_core:
                engine.reg_write(_REGISTERS[number], self._transfer)
            else:
                self._transfer = engine.reg_read(_REGISTERS[number]) & _WORD
        else:
            self._transfer = self._transfer if to_core else 0

    def _attach(self) -> None:
        engine = self._core.engine
        engine.mem_protect(self._region.origin, self._region.size, unicorn.UC_PROT_ALL)
        self._hooks = [
            engine.hook_add(unicorn.UC_HOOK_INTR, self._on_interrupt),
            engine.hook_add(
                unicorn.UC_HOOK_MEM_WRITE,
                self._on_flash_write,
                begin=self._region.origin,
                end=self._region.end - 1,
            ),
        ]

    def _run(self) -> None:
        """Let a running core execute; it stops at a breakpoint instruction, and locks up at a fault."""
        if self._halted or self._locked:
            return
        state = self._core.hook_state
        state.deadline = state.instructions + _SLICE
        state.interrupt = state.stop = state.stopped = 0
        self._trap = None
        try:
            self._core.engine.emu_start(self._core.pc | 1, _END)
        except unicorn.UcError:
            self._locked = True
        state.deadline = NEVER
        self._correct()
        if self._trap is not None:
            self._stop_at_trap()

    def _stop_at_trap(self) -> None:
        if self._trap != _INTR_BKPT or not self._control & _DEBUG:
            self._locked = True
            return
        pc = self._core.pc & ~1
        if self._core.engine.mem_read(pc, 2)[1] != _BKPT_OPCODE:
            self._core.pc = pc - 2
        self._halted = True
        self._reason |= _DFSR_BKPT

    def _on_interrupt(self, engine: Any, number: int, _data: object) -> None:
        self._trap = number
        engine.emu_stop()

    def _on_flash_write(
        self, _engine: object, _access: int, address: int, size: int, value: int, _data: object
    ) -> None:
        """Called before the store, which cannot be changed: cells that differ are put right afterwards."""
        self._correct()
        offset = address - self._region.origin
        value &= (1 << 8 * size) - 1
        cells = self._flash.program(offset, size, value)
        if cells != value:
            self._corrections.append((offset, cells.to_bytes(size, "little")))

    def _correct(self) -> None:
        for offset, cells in self._corrections:
            ctypes.memmove(ctypes.addressof(self._memory) + offset, cells, len(cells))
        self._corrections.clear()
