"""Block models by their registers, without a core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tinydeploy.boards import Block, all_boards, load_board
from tinydeploy.emulate.blocks import MODELS, CmsdkTimer, CmsdkUart, Dwt, Scs, StUsartV2, Wires
from tinydeploy.emulate.blocks.scs import LOWEST_PRIORITY, SYSTICK
from tinydeploy.emulate.chip.bus import Bus


@dataclass
class Bench:
    """Wires that end in variables."""

    now: int = 0
    level: bool = False
    sent: bytearray = field(default_factory=bytearray)

    def wires(self, **changes: Any) -> Wires:
        return Wires(
            cycles=lambda: self.now,
            interrupt=lambda level: setattr(self, "level", level),
            attention=lambda: None,
            transmit=self.sent.extend,
            clock_hz=lambda bus: 54_000_000,
            find=lambda kind: None,
            fail=pytest.fail,
            **changes,
        )


BLOCK = Block("block", "type", 0)


def test_the_usart_raises_its_interrupt_while_bytes_wait() -> None:
    bench = Bench()
    usart = StUsartV2(BLOCK, bench.wires(baud=115_200))
    usart.write(StUsartV2.BRR, 4, 469)
    usart.write(StUsartV2.CR1, 4, 0x2D)
    usart.receive(b"ab")
    assert bench.level
    assert usart.read(StUsartV2.ISR) & 0x20
    assert usart.read(StUsartV2.RDR) == ord("a")
    assert bench.level
    assert usart.read(StUsartV2.RDR) == ord("b")
    assert not bench.level
    assert not usart.read(StUsartV2.ISR) & 0x20
    usart.write(StUsartV2.TDR, 1, ord("c"))
    assert bench.sent == b"c"


def test_a_usart_that_is_off_sends_nothing() -> None:
    bench = Bench()
    usart = StUsartV2(BLOCK, bench.wires())
    usart.write(StUsartV2.TDR, 1, ord("c"))
    usart.receive(b"a")
    assert not bench.sent
    assert not bench.level


def test_the_cmsdk_uart_presents_one_byte_at_a_time() -> None:
    bench = Bench()
    uart = CmsdkUart(BLOCK, bench.wires())
    uart.write(CmsdkUart.CTRL, 4, 0xB)
    uart.receive(b"ab")
    assert bench.level
    uart.write(CmsdkUart.INTERRUPT, 4, 2)
    assert not bench.level
    assert uart.read(CmsdkUart.STATE) == 2
    assert uart.read(CmsdkUart.DATA) == ord("a")
    assert bench.level, "the second byte interrupts again"
    assert uart.read(CmsdkUart.DATA) == ord("b")
    assert uart.read(CmsdkUart.STATE) == 0


def test_the_timer_counts_down_and_wraps() -> None:
    bench = Bench()
    timer = CmsdkTimer(BLOCK, bench.wires(per_tick=40))
    timer.write(CmsdkTimer.RELOAD, 4, 99)
    timer.write(CmsdkTimer.VALUE, 4, 99)
    timer.write(CmsdkTimer.CTRL, 4, 1)
    seen = []
    for bench.now in (39, 40, 99 * 40, 100 * 40):
        seen.append(timer.read(CmsdkTimer.VALUE))
    assert seen == [99, 98, 0, 99]


def test_the_cycle_counter_starts_where_it_is_told() -> None:
    bench = Bench(now=1000)
    dwt = Dwt(BLOCK, bench.wires())
    assert dwt.read(Dwt.CYCCNT) == 0
    dwt.write(Dwt.CTRL, 4, 1)
    bench.now = 1500
    assert dwt.read(Dwt.CYCCNT) == 500
    dwt.write(Dwt.CYCCNT, 4, 0xFFFF_FFFF)
    bench.now = 1501
    assert dwt.read(Dwt.CYCCNT) == 0
    dwt.write(Dwt.CTRL, 4, 0)
    bench.now = 2000
    assert dwt.read(Dwt.CYCCNT) == 0


def test_priorities_decide() -> None:
    scs = Scs(BLOCK, Bench().wires())
    scs.write(Scs.ISER, 4, 0b110)
    scs.write(Scs.ISPR, 4, 0b111)
    scs.write(Scs.IPR, 4, 0x00_10_20_00)
    assert scs.next_exception(LOWEST_PRIORITY) == 18, "interrupt 2 has the lower number of priority"
    assert scs.next_exception(0x10) is None
    scs.taken(18)
    assert scs.next_exception(LOWEST_PRIORITY) == 17
    scs.write(Scs.ICER, 4, 0b010)
    assert scs.next_exception(LOWEST_PRIORITY) is None
    assert scs.read(Scs.ISER) == 0b100


def test_a_line_stays_pending_while_it_is_high() -> None:
    scs = Scs(BLOCK, Bench().wires())
    scs.write(Scs.ISER + 4, 4, 1 << 7)
    scs.set_line(16 + 39, True)
    assert scs.next_exception(LOWEST_PRIORITY) == 16 + 39
    scs.taken(16 + 39)
    assert scs.next_exception(LOWEST_PRIORITY) == 16 + 39
    scs.set_line(16 + 39, False)
    assert scs.next_exception(LOWEST_PRIORITY) is None


def test_systick_interrupts_once_per_period() -> None:
    bench = Bench()
    scs = Scs(BLOCK, bench.wires())
    scs.write(Scs.RVR, 4, 999)
    scs.write(Scs.CVR, 4, 0)
    scs.write(Scs.CSR, 4, 7)
    assert scs.tick_deadline() == 1000
    bench.now = 250
    assert scs.read(Scs.CVR) == 749
    assert scs.next_exception(LOWEST_PRIORITY) is None
    bench.now = 2100
    assert scs.next_exception(LOWEST_PRIORITY) == SYSTICK
    scs.taken(SYSTICK)
    assert scs.next_exception(LOWEST_PRIORITY) is None
    assert scs.tick_deadline() == 3000


def test_a_reset_is_requested_with_the_key_only() -> None:
    scs = Scs(BLOCK, Bench().wires())
    scs.write(Scs.AIRCR, 4, 0x0000_0004)
    assert not scs.reset_requested
    scs.write(Scs.AIRCR, 4, 0x05FA_0004)
    assert scs.reset_requested


def test_the_bus_finds_blocks_that_share_a_page() -> None:
    chip = load_board("nucleo-f746").chip
    bus = Bus(chip, lambda name: Bench().wires(), {0x40023800: 1 << 1})
    assert bus.read(0x40023804, 4) == 0x2400_3010
    assert bus.read(0x40023C00, 4) == 0
    assert bus.read(0x40023800, 4) == 0x81, "HSIRDY is stuck"
    assert bus.read(0x40023806, 2) == 0x2400
    assert bus.read(0x40023805, 1) == 0x30
    bus.write(0x40023F00, 4, 1)
    assert bus.read(0x40023400, 4) == 0, "unused parts of a page read as 0"
    assert 0x40023000 in bus.pages()
    assert 0x40024000 not in bus.pages()


def test_every_block_of_every_chip_that_we_emulate_has_a_model() -> None:
    for board in all_boards():
        if any(choice.kind == "unicorn" for choice in board.emulators):
            assert {block.type for block in board.chip.blocks} <= MODELS.keys()
