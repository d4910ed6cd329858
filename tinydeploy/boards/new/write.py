"""Reading a description, whatever its form, and writing the drafts: both files, or none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tinydeploy.boards.board_file import load_board_file
from tinydeploy.boards.catalogue import all_boards
from tinydeploy.boards.chip_file import CPU_KEYS
from tinydeploy.boards.model import LIBRARY_CPUS
from tinydeploy.boards.new.board_draft import Draft, draft_board
from tinydeploy.boards.new.chips import chip_named, chips_with_memories, find_chip, known_chips
from tinydeploy.boards.new.devicetree import read_devicetree
from tinydeploy.boards.new.facts import Facts
from tinydeploy.boards.new.linker_script import read_linker_script
from tinydeploy.boards.new.platformio import read_platformio
from tinydeploy.boards.new.words import identifier
from tinydeploy.errors import TinyDeployError
from tinydeploy.staging import staged


def read_facts(path: Path) -> Facts:
    """What a file says about a board. Raises TinyDeployError where it is unreadable or of no known form."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TinyDeployError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError:
        raise TinyDeployError("is no text", where=str(path), fix=_FORMS) from None
    if path.suffix == ".json" or text.lstrip().startswith("{"):
        return read_platformio(path, text)
    if path.suffix in (".dts", ".dtsi") or "/dts-v1/" in text:
        return read_devicetree(path, text)
    if path.suffix in (".ld", ".lds", ".cmd", ".x") or "MEMORY" in text:
        return read_linker_script(path, text)
    raise TinyDeployError("describes no board", where=str(path), fix=_FORMS)


_FORMS = "Give a PlatformIO manifest (.json), a Zephyr build's zephyr.dts, or a GNU linker script (.ld)"


def draft_from(path: Path, output: Path, name: str | None, chip: str | None, cpu: str | None) -> Draft:
    """The drafts from a file, for ``output``; ``chip`` and ``cpu`` overrule what the file says.

    Raises TinyDeployError for what cannot be used.
    """
    if output.suffix != ".toml":
        raise TinyDeployError("a board file ends with .toml", where=str(output), fix=f"-o {output}.toml")
    if name is not None and name != identifier(name, ""):
        raise TinyDeployError(f"got {name!r}, a word of letters, digits, _ and - is allowed", where="--name")
    if cpu is not None and cpu not in CPU_KEYS[1:] + LIBRARY_CPUS:
        allowed = ", ".join(CPU_KEYS[1:] + LIBRARY_CPUS)
        raise TinyDeployError(f"got {cpu!r}, allowed: {allowed}", where="--cpu")
    facts = read_facts(path)
    if cpu is not None:
        facts = replace(facts, cpu=cpu)
    chips = known_chips()
    match = chip_named(chip, chips) if chip is not None else find_chip(facts, chips)
    if match is None and not facts.cpu and (similar := chips_with_memories(facts, chips)):
        note = f"the memories are those of {', '.join(similar)}: give --chip, or the core with --cpu"
        facts = replace(facts, notes=(*facts.notes, note))
    return draft_board(facts, match, name or identifier(output.stem, "board"), all_boards(), output.name)


def write_draft(draft: Draft, output: Path, *, force: bool) -> tuple[Path, ...]:
    """Write ``output`` and the chip's file; both complete, or none. Returns the files, the board's first.

    Raises TinyDeployError where a file exists and is not to be replaced, or cannot be written.
    """
    chip_file = output.parent / "chips" / f"{draft.chip}.toml"
    files = {output: draft.board_text, **({chip_file: draft.chip_text} if draft.chip_text else {})}
    for path in files:
        if path.exists() and not force:
            raise TinyDeployError("exists", where=str(path), fix="Give another -o, or --force to replace it")
    with staged(output.parent) as work:  # files of folders first: where the board is, its chip is
        for path, text in files.items():
            place = work / path.relative_to(output.parent)
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")
        if not draft.missing:
            _check(work / output.name)
    return tuple(files)


def _check(file: Path) -> None:
    """Raise where a draft that lacks nothing does not load: the source contradicts itself."""
    try:
        load_board_file(file)
    except TinyDeployError as error:
        raise TinyDeployError(
            f"makes a file that does not load: {error.what}",
            where=error.where.removeprefix(f"{file.parent}{os.sep}"),
            fix="Correct the source, or give --chip",
        ) from None
