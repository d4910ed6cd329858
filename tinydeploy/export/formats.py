"""The table of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinydeploy.boards import Board
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import arduino, cmake, cmsis_pack, espidf, platformio, zephyr
from tinydeploy.export.project import Exporter


@dataclass(frozen=True, slots=True)
class Format:
    """A way to hand a model on. ``check_board`` raises TinyDeployError where it cannot serve that board."""

    name: str
    title: str
    make: Exporter
    check_board: Callable[[Board | None], None]


def any_board(_board: Board | None) -> None:
    """For formats that every board takes, and none needs."""


_ALL: tuple[Format, ...] = (
    Format("platformio", "a PlatformIO project", platformio.make, platformio.check_board),
    Format("arduino", "an Arduino library", arduino.make, any_board),
    Format("zephyr", "a Zephyr module", zephyr.make, any_board),
    Format("espidf", "a component for ESP-IDF", espidf.make, espidf.check_board),
    Format("cmake", "a CMake package", cmake.make, any_board),
    Format("cmsis-pack", "a CMSIS-Pack", cmsis_pack.make, cmsis_pack.check_board),
)

FORMATS: Mapping[str, Format] = {item.name: item for item in _ALL}


def find_format(name: str) -> Format:
    """The format of that name; raises TinyDeployError that lists the formats."""
    if name not in FORMATS:
        raise TinyDeployError(f"--format {name!r} is not known. Formats: {', '.join(FORMATS)}")
    return FORMATS[name]
