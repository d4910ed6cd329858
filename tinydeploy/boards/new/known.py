"""Vendors' words and families, as the data file beside this module lists them."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Family:
    """Chips whose memories start at the same addresses; ``cpu`` and ``tool`` are "" where files name them."""

    prefix: str
    flash_origin: int
    ram_origin: int
    cpu: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """A block that is part of the core; ``base`` is None where it has no addresses."""

    name: str
    type: str
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Architecture:
    """What every chip with one of these cores has; ``counter`` names the block that counts time, or ""."""

    cpus: tuple[str, ...]
    blocks: tuple[CoreBlock, ...]
    counter: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """The whole file. The dictionaries lead from a devicetree's ``compatible`` to our word."""

    families: tuple[Family, ...]
    uarts: dict[str, str]
    controllers: dict[str, str]
    cores: dict[str, str]
    architectures: tuple[Architecture, ...]

    def family(self, part: str) -> Family | None:
        """The family of a part, by the longest prefix."""
        fitting = [family for family in self.families if part.lower().startswith(family.prefix)]
        return max(fitting, key=lambda family: len(family.prefix), default=None)

    def architecture(self, cpu: str) -> Architecture:
        return next((found for found in self.architectures if cpu in found.cpus), Architecture((), ()))


@functools.cache
def known() -> Known:
    """The data file, read once."""
    content = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    return Known(
        families=tuple(Family(**entry) for entry in content["family"]),
        uarts=content["uart"],
        controllers=content["interrupt_controller"],
        cores=content["core"],
        architectures=tuple(
            Architecture(
                tuple(entry["cpus"]),
                tuple(CoreBlock(**block) for block in entry["blocks"]),
                entry.get("counter", ""),
            )
            for entry in content["architecture"]
        ),
    )
