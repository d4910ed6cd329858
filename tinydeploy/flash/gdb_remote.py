"""Flashing through a gdb server: what gdb's ``load`` and ``compare-sections`` do, without gdb."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.errors import ToolError
from tinydeploy.firmware import Segment, read_image
from tinydeploy.flash.base import FoundProbe, Job, Progress
from tinydeploy.flash.cpuid import cpuid_part, part_name
from tinydeploy.flash.gdb_client import GdbClient

_CPUID_AT = 0xE000_ED00
_PIECE = 4096
_PC_REGISTER, _SP_REGISTER, _XPSR_REGISTER = 15, 13, 25
# Commands of the servers that restart the chip: QEMU's, OpenOCD's, pyOCD's and J-Link's.
_RESETS = ("system_reset", "reset run", "reset")


@dataclass(frozen=True, slots=True)
class FlashArea:
    """Flash as a server describes it: erased in blocks of ``block`` bytes."""

    start: int
    end: int
    block: int


class GdbRemote:
    """A board behind a gdb server; ``config`` of the probe, or ``--probe``, is its HOST:PORT."""

    name = "gdb"
    is_tested = True

    def __init__(self, job: Job) -> None:
        self._job = job

    def is_available(self) -> bool:
        return True

    def find(self) -> tuple[FoundProbe, ...]:
        """Servers announce themselves nowhere."""
        return ()

    def flash(self, elf: Path, progress: Progress) -> None:
        image = read_image(elf)
        host, port = self._address()
        with GdbClient(host, port) as server:
            self._check_core(server)
            areas = flash_areas(server.memory_map())
            total = sum(len(segment.data) for segment in image.segments)
            self._erase(server, areas, image.segments, progress)
            done = 0
            for segment in image.segments:
                for at in range(0, len(segment.data), _PIECE):
                    piece = Segment(segment.address + at, segment.data[at : at + _PIECE])
                    if _area(areas, piece.address) is not None:
                        server.write_flash(piece.address, piece.data)
                    else:
                        server.write(piece.address, piece.data)
                    done += len(piece.data)
                    progress("writing", done, total)
            if areas:
                server.command("vFlashDone", doing="finish writing")
            progress("verifying", 0, None)
            for segment in image.segments:
                if not server.holds(segment.address, segment.data):
                    raise self._job.error(
                        f"memory at {segment.address:#x} does not hold what was written",
                        fix="Is there writable memory? Give --board the board that is connected",
                    )
            if not any(server.monitor(text) is not None for text in _RESETS):
                self._start(server, image.symbols.get("td_vectors", image.segments[0].address))
            server.detach()

    def _address(self) -> tuple[str, int]:
        text = self._job.serial or self._job.probe.config
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ToolError(
                f"{text!r} is not HOST:PORT",
                where=self._job.where,
                fix="Give the gdb server's address, such as --probe localhost:3333",
            )
        return host, int(port)

    def _check_core(self, server: GdbClient) -> None:
        part = cpuid_part(self._job.board.chip.cpu)
        if part is None:
            return
        found = int.from_bytes(server.read(_CPUID_AT, 4), "little")
        if found and part_name(found) != part_name(part):
            raise self._job.error(
                f"the connected chip is not this board's: its core is {part_name(found)}, "
                f"{self._job.board.chip.title} has {part_name(part)}",
                fix="Give --board the board that is plugged in; `tinydeploy boards` lists them",
            )

    @staticmethod
    def _erase(
        server: GdbClient, areas: tuple[FlashArea, ...], segments: tuple[Segment, ...], progress: Progress
    ) -> None:
        """Erase every block that a segment touches, each once."""
        blocks = sorted({block for segment in segments for block in blocks_of(areas, segment)})
        for index, (start, size) in enumerate(blocks):
            progress("erasing", index, len(blocks))
            server.command(f"vFlashErase:{start:x},{size:x}", doing=f"erase {start:#x}")

    @staticmethod
    def _start(server: GdbClient, vectors: int) -> None:
        """A server that cannot reset: point the core at the image."""
        table = server.read(vectors, 8)
        words = (int.from_bytes(table[:4], "little"), int.from_bytes(table[4:], "little") & ~1)
        for register, value in zip((_SP_REGISTER, _PC_REGISTER), words, strict=True):
            server.command(f"P{register:x}={value.to_bytes(4, 'little').hex()}", doing="set a register")
        server.ask(f"P{_XPSR_REGISTER:x}={(1 << 24).to_bytes(4, 'little').hex()}")


def flash_areas(memory_map: str) -> tuple[FlashArea, ...]:
    """The flash in a server's memory map; none where it gives none or its XML is broken."""
    if not memory_map:
        return ()
    try:
        root = ET.fromstring(memory_map)
    except ET.ParseError:
        return ()
    found = []
    for memory in root.iter("memory"):
        if memory.get("type") == "flash":
            start, length = int(memory.get("start", "0"), 0), int(memory.get("length", "0"), 0)
            sizes = [
                entry.text or "" for entry in memory.iter("property") if entry.get("name") == "blocksize"
            ]
            found.append(FlashArea(start, start + length, int(sizes[0], 0) if sizes else length))
    return tuple(found)


def blocks_of(areas: tuple[FlashArea, ...], segment: Segment) -> list[tuple[int, int]]:
    """Start and size of the erase blocks that a segment touches."""
    found = []
    for area in areas:
        first = max(segment.address, area.start)
        last = min(segment.end, area.end)
        at = area.start + (first - area.start) // area.block * area.block
        while at < last:
            found.append((at, area.block))
            at += area.block
    return found


def _area(areas: tuple[FlashArea, ...], address: int) -> FlashArea | None:
    return next((area for area in areas if area.start <= address < area.end), None)
