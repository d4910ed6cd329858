"""Which chip of ours a description means: by the part's name, or by its memories where it has no name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.boards.catalogue import board_folders
from tinydeploy.boards.chip_file import load_chip
from tinydeploy.boards.model import Chip, Kind, Region
from tinydeploy.boards.new.facts import Facts, Memory, plain
from tinydeploy.errors import TinyDeployError

_SHORTEST_NAME = 6
_SHORTEST_STEM = 8
# Vendors' part numbers are so long before the letters that tell the package and the size of the memory.
_SHORTEST_COMMON = 9
_PACKAGE_LETTERS = 2


@dataclass(frozen=True, slots=True)
class Match:
    """A chip and why it was taken, for the user to check."""

    chip: Chip
    reason: str


def known_chips() -> tuple[Chip, ...]:
    """The chips of all board folders; of two with the same name the one of the earlier folder."""
    found: dict[str, Chip] = {}
    for folder in board_folders():
        for file in sorted((folder / "chips").glob("*.toml")):
            chip = load_chip(file)
            found.setdefault(chip.name, chip)
    return tuple(chip for chip in found.values() if not chip.is_host)


def chip_named(name: str, chips: Sequence[Chip]) -> Match:
    """The chip that the user names; raises TinyDeployError that lists them."""
    for chip in chips:
        if chip.name == name:
            return Match(chip, "as asked for")
    raise TinyDeployError(
        f"no chip {name!r}. Known: {', '.join(sorted(chip.name for chip in chips))}",
        where="--chip",
        fix="Leave out --chip to get a draft of a chip file",
    )


def find_chip(facts: Facts, chips: Sequence[Chip]) -> Match | None:
    """The chip that a description means, None where we have none.

    Raises TinyDeployError where several fit equally well.
    """
    fitting = [chip for chip in chips if facts.cpu in ("", chip.cpu)]
    if facts.parts:
        exact = [chip for chip in fitting if any(_is_named(part, chip, facts) for part in facts.parts)]
        related = [chip for chip in fitting if any(_is_related(part, chip, facts) for part in facts.parts)]
        found, reason = exact or related, "by its name" if exact else "by its family and its memories"
    else:
        found = [chip for chip in fitting if fits(facts.memories, chip)] if facts.cpu else []
        reason = "by its core and its memories alone: make sure that it is the one on the board"
    if len(found) > 1:
        names = ", ".join(sorted(chip.name for chip in found))
        raise TinyDeployError(
            f"fits several chips: {names}", where=str(facts.path), fix="Choose one with --chip"
        )
    return Match(found[0], reason) if found else None


def chips_with_memories(facts: Facts, chips: Sequence[Chip]) -> tuple[str, ...]:
    """The chips whose memories fit, whatever their core."""
    return tuple(chip.name for chip in chips if fits(facts.memories, chip))


def _is_named(part: str, chip: Chip, facts: Facts) -> bool:
    """Whether a part is the chip, the letters of its package aside. A variant (``-2m``) has to fit too."""
    part, name, stem = plain(part), plain(chip.name), plain(chip.name.partition("-")[0])
    if part.startswith(name):
        return True
    is_stem = len(stem) >= _SHORTEST_NAME and (
        part == stem or (len(stem) > _SHORTEST_STEM and part.startswith(stem))
    )
    return is_stem and fits(facts.memories, chip)


def _is_related(part: str, chip: Chip, facts: Facts) -> bool:
    """Whether the names differ only in package and memory letters, and the memories are the same."""
    part, name = plain(part), plain(chip.name)
    common = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(part, name, strict=False))
    )
    same = common >= max(_SHORTEST_COMMON, len(name) - _PACKAGE_LETTERS)
    stem = len(part) >= _SHORTEST_STEM and name.startswith(part)
    return (same or stem) and fits(facts.memories, chip)


def fits(memories: Sequence[Memory], chip: Chip) -> bool:
    """Whether the memories are the chip's: the same flash, and at least half of its RAM, nothing else.

    Memories whose addresses the file does not tell are compared by their sizes.
    """
    flash = [memory for memory in memories if memory.kind is Kind.FLASH]
    ram = [memory for memory in memories if memory.kind is Kind.RAM]
    regions = [region for region in chip.regions if region.kind is Kind.FLASH]
    if not flash or not ram or not regions:
        return False
    if any(memory.origin is None or memory.is_assumed for memory in memories):
        sizes = {sum(chosen) for chosen in _subsets([r.size for r in chip.regions if r.kind is Kind.RAM])}
        return flash[0].size == regions[0].size and sum(memory.size for memory in ram) in sizes
    same_flash = any((r.origin, r.size) == (m.origin, m.size) for r in regions for m in flash)
    areas = _joined([region for region in chip.regions if region.kind is Kind.RAM])
    inside = all(any(low <= (m.origin or 0) and (m.end or 0) <= high for low, high in areas) for m in ram)
    return same_flash and inside and 2 * sum(memory.size for memory in ram) >= chip.ram_bytes


def _subsets(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return [chosen for count in range(1, len(sizes) + 1) for chosen in itertools.combinations(sizes, count)]


def _joined(regions: Sequence[Region]) -> list[tuple[int, int]]:
    """Start and end of the areas that neighbouring regions make together."""
    areas: list[tuple[int, int]] = []
    for region in sorted(regions, key=lambda region: region.origin):
        if areas and areas[-1][1] == region.origin:
            areas[-1] = (areas[-1][0], region.end)
        else:
            areas.append((region.origin, region.end))
    return areas
