"""What boot ROMs read first, parsed back from built images; the clocks that register tables make."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import TESTS
from tinydeploy.boards import Action, Board, RegisterStep, all_boards, load_board
from tinydeploy.firmware import Image, build_firmware, read_image
from tinydeploy.flash.uf2 import from_uf2, to_uf2
from tinydeploy.toolchain import available, cpu_spec, select

BENCH = TESTS / "emulated" / "firmware" / "bench.c"
COMPILERS = ("gcc", "zig")
XIP = 0x10000000
compilers = pytest.mark.parametrize("compiler", COMPILERS)


@dataclass
class Images:
    """Built when first asked for."""

    folder: Path
    built: dict[tuple[str, str], Image] = field(default_factory=dict)

    def get(self, board: str, compiler: str) -> Image:
        if (board, compiler) not in self.built:
            found = load_board(board)
            cpu = cpu_spec(found.chip.cpu)
            if compiler not in available(cpu):
                pytest.skip(f"no {compiler} for {cpu.key} is installed")
            out = self.folder / f"{board}-{compiler}"
            firmware = build_firmware(found, select(compiler, cpu), [], [], out, "none", app=BENCH)
            self.built[board, compiler] = read_image(firmware.elf)
        return self.built[board, compiler]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Images:
    return Images(tmp_path_factory.mktemp("images"))


def content(image: Image) -> bytes:
    """The flash from the lowest address on."""
    first = min(image.segments, key=lambda segment: segment.address)
    return first.data


def words(data: bytes, offset: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}I", data, offset)


def crc32_msb_first(data: bytes) -> int:
    """CRC-32 as the RP2040's boot ROM computes it (datasheet 2.8.1.3.1)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc


def test_the_crc_is_the_boot_roms() -> None:
    """CRC-32/MPEG-2 of the digits, from its catalogue of checks."""
    assert crc32_msb_first(b"123456789") == 0x0376E6E7


class TestRp2040:
    @compilers
    def test_the_boot_block_ends_with_its_crc(self, images: Images, compiler: str) -> None:
        block = content(images.get("rpi-pico", compiler))[:256]
        (stored,) = words(block, 252, 1)
        wanted = crc32_msb_first(block[:252])
        assert stored == wanted, f"the last word of rp2040_boot2.c must be {wanted:#010X}"

    @compilers
    def test_the_vectors_follow(self, images: Images, compiler: str) -> None:
        image = images.get("rpi-pico", compiler)
        assert image.symbols["td_vectors"] == XIP + 0x100
        stack, reset = words(content(image), 0x100, 2)
        assert (stack, reset) == (image.symbols["td_stack_high"], image.symbols["Reset_Handler"] | 1)

    @compilers
    def test_the_boot_block_makes_flash_readable_and_starts_the_image(
        self, images: Images, compiler: str
    ) -> None:
        """Executed where the boot ROM puts it: what it writes to the SSI, when, and where it goes."""
        unicorn = pytest.importorskip("unicorn", reason="the extra emulator is not installed")
        arm = pytest.importorskip("unicorn.arm_const")
        image = images.get("rpi-pico", compiler)
        at, ssi = 0x20041F00, 0x18000000
        engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        engine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M0)
        written: list[tuple[int, int]] = []
        engine.mem_map(XIP, 0x200000)
        engine.mem_map(0x20000000, 0x42000)
        engine.mem_map(0xE000E000, 0x1000)
        engine.mmio_map(
            ssi, 0x1000, lambda *_: 0, None, lambda _e, at, _s, value, _d: written.append((at, value)), None
        )
        for segment in image.segments:
            engine.mem_write(segment.address, segment.data)
        engine.mem_write(at, content(image)[:256])
        reset = image.symbols["Reset_Handler"]
        engine.reg_write(arm.UC_ARM_REG_LR, 0)
        engine.emu_start(at | 1, reset, count=100)
        assert engine.reg_read(arm.UC_ARM_REG_PC) == reset
        assert engine.reg_read(arm.UC_ARM_REG_MSP) == image.symbols["td_stack_high"]
        assert words(bytes(engine.mem_read(0xE000ED08, 4)), 0, 1) == (XIP + 0x100,)
        enable, settings = 0x08, dict(written)
        assert [value for offset, value in written if offset == enable] == [0, 1]
        assert (written[0], written[-1]) == ((enable, 0), (enable, 1))
        # 4.10.13: divider, chip select, frames of 32 bits behind a command, which is 03h and 24 bits
        assert settings == {
            enable: 1,
            0x14: 4,
            0x10: 1,
            0x00: 31 << 16 | 3 << 8,
            0x04: 0,
            0xF4: 0x03 << 24 | 2 << 8 | 6 << 2,
        }

    def test_both_compilers_make_the_same_block(self, images: Images) -> None:
        assert len({content(images.get("rpi-pico", compiler))[:256] for compiler in COMPILERS}) == 1


class TestRp2350:
    @compilers
    def test_the_image_definition(self, images: Images, compiler: str) -> None:
        """Datasheet 5.9.1: the items of the block, read one after the other."""
        image = images.get("rpi-pico2", compiler)
        data = content(image)
        start, end = 0xFFFFDED3, 0xAB123579
        assert words(data, 0, 1) == (start,)
        items = list(picobin_items(data, 4))
        (kind, image_type), (second, table), (last, total) = items
        assert (kind, second, last) == (0x42, 0x03, 0xFF)
        flags = image_type[0] >> 16
        assert flags & 0xF == 1  # executable
        assert flags >> 4 & 3 == 2  # secure
        assert flags >> 8 & 7 == 0  # Arm
        assert flags >> 12 & 7 == 1  # RP2350
        assert table[1] == image.symbols["td_vectors"] == XIP + 0x200
        assert total[0] >> 8 & 0xFFFF == len(image_type) + len(table)
        behind = 4 + 4 * (len(image_type) + len(table) + len(total))
        assert words(data, behind, 2) == (0, end)  # the only block of its loop
        assert behind + 8 <= 4096


def picobin_items(data: bytes, offset: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Items up to the last one: type, words."""
    while True:
        (head,) = words(data, offset, 1)
        kind = head & 0xFF
        is_last = kind == 0xFF
        count = 1 if is_last else head >> 8 & 0xFF
        yield kind, words(data, offset, count)
        if is_last:
            return
        offset += 4 * count


class TestImxrt:
    FLASH = 0x60000000

    @compilers
    def test_how_the_flash_is_read(self, images: Images, compiler: str) -> None:
        """The FlexSPI configuration block of the reference manual, field by field."""
        data = content(images.get("teensy-4.1", compiler))
        assert data[:4] == b"FCFB"
        assert words(data, 0x04, 1)[0] >> 24 == ord("V")
        sample_clock, cs_hold, cs_setup, column_bits = data[0x0C:0x10]
        assert (sample_clock, cs_hold, cs_setup, column_bits) == (0, 3, 3, 0)
        device, lines, clock, custom = data[0x44:0x48]
        assert (device, lines, clock, custom) == (1, 2, 3, 0)  # serial NOR, two lines, 60 MHz
        assert words(data, 0x50, 4) == (8 << 20, 0, 0, 0)
        assert words(data, 0x1C0, 2) == (256, 4096)
        assert words(data, 0x1D0, 1) == (65536,)
        assert set(data[0x10:0x44] + data[0x60:0x80] + data[0x88:0x1C0] + data[0x1D4:0x200]) == {0}
        steps = [half for word in words(data, 0x80, 3) for half in (word & 0xFFFF, word >> 16)]
        decoded = [(step >> 10, 1 << (step >> 8 & 3), step & 0xFF) for step in steps]
        command, address, read, dummy, stop = 0x01, 0x02, 0x09, 0x0C, 0x00
        assert decoded == [
            (command, 1, 0x3B),
            (address, 1, 24),
            (dummy, 2, 8),
            (read, 2, 4),
            (stop, 1, 0),
            (stop, 1, 0),
        ]

    @compilers
    def test_where_the_image_starts(self, images: Images, compiler: str) -> None:
        image = images.get("teensy-4.1", compiler)
        data = content(image)
        header, entry, _, dcd, boot_data, own, csf, _ = words(data, 0x1000, 8)
        assert struct.pack("<I", header) == bytes([0xD1, 0x00, 0x20, 0x40])
        assert entry == image.symbols["td_vectors"] == self.FLASH + 0x1400
        assert (own, dcd, csf) == (self.FLASH + 0x1000, 0, 0)
        assert words(data, boot_data - self.FLASH, 3) == (self.FLASH, 8 << 20, 0)
        assert words(data, 0x1400, 2) == (image.symbols["td_stack_high"], image.symbols["Reset_Handler"] | 1)


@pytest.mark.parametrize(
    ("board", "family"), [("rpi-pico", 0xE48BFF56), ("rpi-pico2", 0xE48BFF59)], ids=["pico", "pico2"]
)
def test_uf2_holds_the_boot_block_and_all_else(images: Images, board: str, family: int) -> None:
    """The families of github.com/microsoft/uf2: RP2040, and RP2350's Arm cores in secure state."""
    probe = next(probe for probe in load_board(board).probes if probe.format == "uf2")
    assert probe.family == family
    image = images.get(board, "gcc")
    found, segments = from_uf2(to_uf2(image.segments, probe.family))
    assert found == family
    assert [segment.address for segment in segments] == [XIP]
    for segment in image.segments:
        start = segment.address - XIP
        assert segments[0].data[start : start + len(segment.data)] == segment.data


class Registers:
    """What a board's register steps leave behind, from reset values; waits are taken as met."""

    def __init__(self, board: Board, reset: dict[int, int]) -> None:
        self._values = dict(reset)
        assert board.clock is not None
        assert board.uart is not None
        uart = board.chip.block(board.uart.block)
        enables = [step for name in board.ports for step in board.chip.block(name).enable]
        self.apply([*board.clock.steps, *uart.enable, *enables])

    def apply(self, steps: list[RegisterStep]) -> None:
        for step in steps:
            if step.action is Action.WRITE:
                self._values[step.address] = self[step.address] & ~step.mask | step.value

    def __getitem__(self, address: int) -> int:
        return self._values.get(address, 0)

    def field(self, address: int, low: int, bits: int) -> int:
        return self[address] >> low & (1 << bits) - 1


def baud_error(rate: float, board: Board) -> float:
    assert board.uart is not None
    return abs(rate - board.uart.baud) / board.uart.baud


@pytest.mark.parametrize(
    ("name", "clocks", "pll", "divider_shift"),
    [("rpi-pico", 0x40008000, 0x40028000, 8), ("rpi-pico2", 0x40010000, 0x40050000, 16)],
    ids=["rp2040", "rp2350"],
)
def test_rp_clocks_are_the_files(name: str, clocks: int, pll: int, divider_shift: int) -> None:
    board = load_board(name)
    assert board.clock is not None
    reset = {pll: 1, pll + 4: 0x2D, pll + 0xC: 0x77000, clocks + 0x40: 1 << divider_shift}
    registers = Registers(board, reset)
    reference_hz = board.clock.external_hz // registers.field(pll, 0, 6)
    vco_hz = reference_hz * registers.field(pll + 8, 0, 12)
    assert 750_000_000 <= vco_hz <= 1_600_000_000
    assert registers[pll + 4] & 0x29 == 0  # PLL, VCO and post dividers are on
    first, second = registers.field(pll + 0xC, 16, 3), registers.field(pll + 0xC, 12, 3)
    assert first >= second
    assert registers.field(clocks + 0x30, 0, 2) == 2  # clk_ref from the crystal
    assert (registers.field(clocks + 0x3C, 0, 1), registers.field(clocks + 0x3C, 5, 3)) == (1, 0)
    core_hz = vco_hz // (first * second) // (registers[clocks + 0x40] >> divider_shift)
    assert core_hz == board.clock.core_hz
    assert registers[clocks + 0x48] & 0x8E0 == 0x800  # clk_peri from clk_sys, on
    assert board.clock.bus_hz == {"peri": core_hz}
    assert board.uart is not None
    sixteenths = round(core_hz * 4 / board.uart.baud)
    assert baud_error(core_hz * 4 / sixteenths, board) < 0.001


def test_imxrt_clocks_are_the_files() -> None:
    """Reference manual, chapter CCM: ARM PLL, ARM_PODF, AHB_PODF, IPG_PODF and the multiplexers between."""
    board = load_board("teensy-4.1")
    assert board.clock is not None
    ccm, pll = 0x400FC000, 0x400D8000
    registers = Registers(board, {pll: 0x00013063, ccm + 0x14: 0x000A8300, ccm + 0x10: 1})
    multiplier = registers.field(pll, 0, 7)
    assert 54 <= multiplier <= 108
    assert (registers.field(pll, 12, 2), registers.field(pll, 16, 1)) == (2, 0)  # on, no bypass
    pll_hz = board.clock.external_hz * multiplier // 2
    assert (registers.field(ccm + 0x18, 18, 2), registers.field(ccm + 0x14, 25, 1)) == (3, 0)
    core_hz = pll_hz // (registers.field(ccm + 0x10, 0, 3) + 1) // (registers.field(ccm + 0x14, 10, 3) + 1)
    ipg_hz = core_hz // (registers.field(ccm + 0x14, 8, 2) + 1)
    assert core_hz == board.clock.core_hz <= 528_000_000
    assert registers.field(ccm + 0x24, 0, 7) == 0x40  # the UARTs run from the crystal
    assert board.clock.bus_hz == {"uart": board.clock.external_hz, "ipg": ipg_hz}
    assert ipg_hz <= 150_000_000
    assert board.uart is not None
    divider = round(board.clock.external_hz / (16 * board.uart.baud))
    assert baud_error(board.clock.external_hz / (16 * divider), board) < 0.02


@pytest.mark.parametrize(
    "name", ["rpi-pico", "rpi-pico2", "bbc-microbit-v2", "arduino-nano-33-ble", "teensy-4.1"]
)
def test_signals_and_line_have_pins_of_their_own(name: str) -> None:
    board = load_board(name)
    used = [(pin.port, pin.pin) for pin in board.pins] + [(each.port, each.pin) for each in board.signals]
    assert len(set(used)) == len(used) == 5


@pytest.mark.parametrize("name", ["cmsis-dap-nrf52", "cmsis-dap-rp2040"])
def test_openocd_reads_our_probe_files(name: str) -> None:
    """Its own scripts that they name exist; no probe is opened."""
    openocd = shutil.which("openocd")
    if openocd is None:
        pytest.skip("OpenOCD is not installed: apt-get install openocd")
    file = load_board("rpi-pico").path.parent / "openocd" / f"{name}.cfg"
    done = subprocess.run(
        [openocd, "-f", str(file), "-c", "echo parsed", "-c", "shutdown"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "parsed" in done.stderr, done.stderr
    users = [
        board for board in all_boards() for probe in board.probes if probe.config == f"openocd/{name}.cfg"
    ]
    assert users
