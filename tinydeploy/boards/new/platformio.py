"""A board manifest of PlatformIO: ``boards/ID.json`` (docs.platformio.org, "Custom Embedded Boards")."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tinydeploy.boards.chip_file import CPU_KEYS
from tinydeploy.boards.model import LIBRARY_CPUS, Kind, Probe
from tinydeploy.boards.new.facts import Facts, Memory, plain
from tinydeploy.boards.new.known import Family, known
from tinydeploy.errors import TinyDeployError

FORM = "PlatformIO manifest"
_NUMBER = re.compile(r"(\d+)[uUlL]*\Z")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


def read_platformio(path: Path, text: str) -> Facts:
    """The facts of a manifest: sizes, core, clock and flash tools; it tells no addresses and no UART.

    Raises TinyDeployError that names the key.
    """
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        raise TinyDeployError(
            f"is not valid JSON: {error.msg}", where=f"{path}:{error.lineno}", fix="Give the manifest whole"
        ) from None
    if not isinstance(root, dict) or not isinstance(root.get("build"), dict):
        raise TinyDeployError(
            "has no table 'build', so it is no board manifest", where=str(path), fix="Give a boards/ID.json"
        )
    manifest = _Manifest(path, root)
    part = manifest.word("build.mcu")
    family = known().family(part)
    cpu = _cpu(manifest, family)
    flash, ram = manifest.number("upload.maximum_size"), manifest.number("upload.maximum_ram_size")
    memories = [
        *([_memory(Kind.FLASH, flash, family.flash_origin if family else None)] if flash else []),
        *([_memory(Kind.RAM, ram, family.ram_origin if family else None)] if ram else []),
    ]
    title = f"{manifest.text('vendor')} {manifest.text('name')}"
    if plain(manifest.text("name")).startswith(plain(manifest.text("vendor"))):
        title = manifest.text("name")
    probes, hints = _probes(manifest, part, family)
    return Facts(
        path=path,
        form=FORM,
        title=title.strip(),
        ids=(path.stem, manifest.text("name")),
        parts=(part,) if part else (),
        cpu=cpu,
        core_hz=manifest.number("build.f_cpu"),
        memories=tuple(memories),
        probes=probes,
        probe_hints=hints,
    )


def _memory(kind: Kind, size: int, origin: int | None) -> Memory:
    return Memory(kind.value.upper(), kind, size, origin, is_assumed=origin is not None)


class _Manifest:
    """Keys by their dotted path; what is missing reads as empty."""

    def __init__(self, path: Path, root: dict[str, object]) -> None:
        self._path = path
        self._root = root

    def get(self, key: str) -> object:
        value: object = self._root
        for name in key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, key: str) -> str:
        value = self.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(key, f"got {value!r}, a text is allowed")
        return value

    def word(self, key: str) -> str:
        """A text that goes into file names and command lines."""
        value = self.text(key)
        if value and not _WORD.match(value):
            raise self.error(key, f"got {value!r}, letters, digits and ._- are allowed")
        return value

    def number(self, key: str) -> int:
        """A whole number, also as ``"216000000L"``; 0 where it is missing."""
        value = self.get(key)
        if isinstance(value, str) and (match := _NUMBER.match(value.strip())):
            value = int(match[1])
        if value is None:
            return 0
        if type(value) is not int or not 0 <= value < 1 << 32:
            raise self.error(key, f"got {value!r}, a whole number below 2^32 is allowed")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        return tuple(str(entry) for entry in value) if isinstance(value, list) else ()

    def error(self, key: str, what: str) -> TinyDeployError:
        return TinyDeployError(what, where=f"{self._path}: {key}", fix="Correct the manifest")


def _cpu(manifest: _Manifest, family: Family | None) -> str:
    """Our key of the core: the manifest's own word, else what the family has; "" where neither tells."""
    word = manifest.text("build.cpu").lower()
    march = manifest.text("build.march").lower()
    if word in CPU_KEYS or word in LIBRARY_CPUS:
        return word
    if word.startswith("cortex-m") and word.removesuffix("f") in CPU_KEYS:
        return word.removesuffix("f")
    if march.startswith("rv32") and {"m", "c"} <= set(march.removeprefix("rv32").split("_")[0]):
        return "rv32imc"
    return family.cpu if family else ""


def _probes(
    manifest: _Manifest, part: str, family: Family | None
) -> tuple[tuple[Probe, ...], tuple[str, ...]]:
    board, target = manifest.word("debug.openocd_board"), manifest.word("debug.openocd_target")
    protocol = manifest.word("upload.protocol")
    found: list[Probe] = []
    notes: list[str] = []
    if board:
        found.append(Probe("openocd", f"board/{board.removesuffix('.cfg')}.cfg"))
    elif target:
        notes.append(
            f"OpenOCD has target/{target.removesuffix('.cfg')}.cfg for the chip, none for the board: write "
            "a file that sources it and the probe's interface/*.cfg beside this one, for a [[probe]]"
        )
    if family is not None and family.tool == "esptool":
        found.append(Probe("esptool", f"{part}/0x0"))
    if family is not None and family.tool == "avrdude" and protocol:
        found.append(Probe("avrdude", f"{part}/{protocol}"))
    offset = manifest.word("upload.offset_address")
    if protocol == "sam-ba" and offset:
        found.append(Probe("bossac", offset))
    if "mbed" in manifest.words("upload.protocols"):
        notes.append(
            'the probe may be a USB drive: add a [[probe]] with tool = "drive" and its name as config'
        )
    return tuple(found), tuple(notes)
