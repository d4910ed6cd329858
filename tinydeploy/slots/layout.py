"""Why a model cannot run in an image: the first thing that is compiled into its code otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.codegen import Layout, Part
from tinydeploy.errors import TinyDeployError

Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """The layout of an image as the file beside it tells: its hash, and the facts of each part."""

    hash: int
    parts: tuple[Facts, ...]


def read_known(elf: Path) -> Known | None:
    """What ``build`` wrote beside an image; None where there is no such file."""
    path = elf.with_suffix(".slots.json")
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        parts = tuple({str(k): str(v) for k, v in part["facts"].items()} for part in content["parts"])
        return Known(int(content["layout"], 16), parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TinyDeployError(
            f"is not a layout that build wrote ({error})", where=str(path), fix="Build the image again"
        ) from None


def difference(wanted: Layout, device: int, sums: Sequence[int], known: Known | None) -> str | None:
    """The first difference between a model and the image of a device, in the model's words; None: they fit.

    ``device`` is the image's layout and ``sums`` the checksums of its parts; ``known`` tells more of it.
    """
    if wanted.hash == device:
        return None
    told = known if known is not None and known.hash == device else None
    for index, part in enumerate(wanted.parts):
        if index < len(sums) and part.crc == sums[index]:
            continue
        facts = told.parts[index] if told is not None and index < len(told.parts) else None
        return f"{part.name}: {_reason(part, facts)}"
    return "it is generated otherwise as a whole, as by another version of tinydeploy"


def _reason(part: Part, facts: Facts | None) -> str:
    for name, value in part.facts:
        if facts is not None and facts.get(name, "") != value:
            return f"{name} {value} is compiled into code, the device has {facts.get(name, 'none')}"
    return "it compiles to other code than the device has"
