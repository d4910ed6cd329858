"""A board's TOML file, checked, becomes a Board."""

from __future__ import annotations

from pathlib import Path

from tinydeploy.boards.chip_file import load_chip
from tinydeploy.boards.model import (
    SIGNAL_ROLES,
    Board,
    Chip,
    Clock,
    EmulatorChoice,
    Frameworks,
    Pin,
    PlatformioBoard,
    Probe,
    QemuProperty,
    Signal,
    Tier,
    Uart,
)
from tinydeploy.boards.toml import Table, read_toml
from tinydeploy.resources import boards_dir

EMULATORS = ("qemu", "unicorn", "rp2040js", "native")
PROBE_TOOLS = (
    "openocd",
    "pyocd",
    "drive",
    "gdb",
    "esptool",
    "avrdude",
    "bossac",
    "teensy",
    "cubeprogrammer",
)
DRIVE_FORMATS = ("bin", "hex", "uf2")
PLATFORMIO_FRAMEWORKS = ("arduino", "zephyr")


def load_board_file(file: Path) -> Board:
    """Read and check a board file and its chip; raises TinyDeployError that names the file and the key."""
    root = read_toml(file)
    name = root.name("name")
    chip = load_chip(_chip_path(root))
    board = Board(
        name=name,
        title=root.title("title"),
        chip=chip,
        path=file,
        tier=_tier(root, chip),
        aliases=root.identifiers("aliases"),
        clock=_clock(root, chip),
        uart=None if chip.is_host or not chip.is_buildable else _uart(root.table("uart"), chip),
        pins=tuple(_pin(table, chip) for table in root.tables("pin")),
        signals=tuple(_signal(table, chip) for table in root.tables("signal")),
        probes=tuple(_probe(table) for table in root.tables("probe", single=True)),
        emulators=tuple(_emulator(table) for table in root.tables("emulator")),
        frameworks=_frameworks(root.table("framework")) if root.has("framework") else Frameworks(),
        platformio=_platformio(root.table("platformio"), chip) if root.has("platformio") else None,
    )
    root.finish()
    return board


def _chip_path(root: Table) -> Path:
    """A chip beside the board's file (``chips/NAME.toml``, ``NAME.toml``) wins over one of the package."""
    name = root.identifier("chip")
    here = root.file.parent
    candidates = [
        here / "chips" / f"{name}.toml",
        here / f"{name}.toml",
        boards_dir() / "chips" / f"{name}.toml",
    ]
    for path in candidates:
        if path.is_file() and path != root.file:
            return path
    known = ", ".join(sorted(path.stem for path in (boards_dir() / "chips").glob("*.toml")))
    raise root.error("chip", f"no chip {name!r}. Known: {known}", fix=f"Write {candidates[0]}")


def _tier(root: Table, chip: Chip) -> Tier:
    tier = Tier(root.choice("tier", tuple(tier.value for tier in Tier)))
    if (tier is Tier.LIBRARY) == chip.is_buildable:
        kind = "has firmware" if chip.is_buildable else "is exported to only"
        raise root.error("tier", f"got {tier.value!r}, but the chip {chip.name} {kind}")
    return tier


def _clock(root: Table, chip: Chip) -> Clock | None:
    if not root.has("clock"):
        return None
    name = root.choice("clock", tuple(clock.name for clock in chip.clocks))
    return next(clock for clock in chip.clocks if clock.name == name)


def _uart(table: Table, chip: Chip) -> Uart:
    receivers = tuple(block.name for block in chip.blocks if block.irq is not None)
    uart = Uart(block=table.choice("block", receivers), baud=table.integer("baud", low=300, high=12_000_000))
    table.finish()
    return uart


def _pin(table: Table, chip: Chip) -> Pin:
    pin = Pin(
        port=table.choice("port", tuple(block.name for block in chip.blocks)),
        pin=table.integer("pin", high=31),
        alternate=table.integer("alternate", high=15),
    )
    table.finish()
    return pin


def _signal(table: Table, chip: Chip) -> Signal:
    signal = Signal(
        role=table.choice("role", SIGNAL_ROLES),
        port=table.choice("port", tuple(block.name for block in chip.blocks)),
        pin=table.integer("pin", high=31),
    )
    table.finish()
    return signal


def _probe(table: Table) -> Probe:
    tool = table.choice("tool", PROBE_TOOLS)
    drive = table.choice("format", DRIVE_FORMATS) if tool == "drive" else ""
    family = table.integer("family") if drive == "uf2" else 0
    probe = Probe(tool, table.title("config"), drive, family)
    table.finish()
    return probe


def _emulator(table: Table) -> EmulatorChoice:
    kind = table.choice("kind", EMULATORS)
    if kind == "qemu":
        properties = tuple(_property(entry) for entry in table.tables("property"))
        choice = EmulatorChoice(kind, table.identifier("machine"), properties)
    else:
        choice = EmulatorChoice(kind)
    table.finish()
    return choice


def _frameworks(table: Table) -> Frameworks:
    arduino = table.identifiers("arduino")
    if len(arduino) not in (0, 3):
        got = list(arduino)
        raise table.error("arduino", f"got {got}, a package, an architecture and a board are allowed")
    zephyr = table.title("zephyr") if table.has("zephyr") else ""
    esp_idf = table.identifier("esp_idf") if table.has("esp_idf") else ""
    table.finish()
    return Frameworks(arduino, zephyr, esp_idf)


def _platformio(table: Table, chip: Chip) -> PlatformioBoard:
    frameworks = table.identifiers("frameworks")
    unknown = [name for name in frameworks if name not in PLATFORMIO_FRAMEWORKS]
    if unknown:
        raise table.error("frameworks", f"got {unknown[0]!r}, allowed: {', '.join(PLATFORMIO_FRAMEWORKS)}")
    bare = table.boolean("bare", False)
    if bare and not chip.is_buildable:
        raise table.error("bare", f"got true, but the chip {chip.name} has no firmware of ours")
    board = PlatformioBoard(
        platform=table.identifier("platform"),
        board=table.identifier("board"),
        frameworks=frameworks,
        bare=bare,
        gcc=table.title("gcc") if table.has("gcc") else "",
    )
    table.finish()
    return board


def _property(table: Table) -> QemuProperty:
    found = QemuProperty(table.identifier("device"), table.identifier("name"), table.integer("value"))
    table.finish()
    return found
