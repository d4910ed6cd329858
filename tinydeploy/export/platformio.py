"""PlatformIO projects: bare metal with our startup code, or on the Arduino or Zephyr framework."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.boards import Board, PlatformioBoard
from tinydeploy.codegen import Files
from tinydeploy.codegen.literals import Raw
from tinydeploy.errors import TinyDeployError
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import HOMEPAGE, licence, published
from tinydeploy.export.text import IniText, JsonText, Word, render
from tinydeploy.firmware.build import place_arena, runtime_sources
from tinydeploy.firmware.render import render_board
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import CpuSpec, cpu_spec

_ARENA_SECTION = ".bss.td_app_arena"
_STATIC_BYTES = 3072
"""Room for the runtime's static data beside stack and arena: most of it are the serial line's buffers."""

_ARCHITECTURE = "arm"
_LIBC = "td_string.c"
"""The compilers here bring a C library, which has these functions too."""

_FLAGS = ("-ffp-contract=off", "-fno-math-errno")
_LINK_FLAGS = ("-nostartfiles", "-Wl,--build-id=none")
_DEFAULT_BAUD = 115200


@dataclass(frozen=True, slots=True)
class _Upstream:
    """The environment that uses PlatformIO's own platform."""

    env: Word
    platform: Word
    board: Word
    gcc: Word | None


def check_board(board: Board | None) -> None:
    """Raise TinyDeployError where there is no project for a board, or no board."""
    framework_of(board, None)


def framework_of(board: Board | None, wanted: str | None) -> str:
    """The framework of a board's project; empty: bare metal, which is the default where it is possible.

    Raises TinyDeployError that lists what the board has.
    """
    if board is None:
        raise TinyDeployError("--format platformio needs a board", fix="Add --board NAME")
    offered = board.platformio.frameworks if board.platformio else ()
    if wanted is not None:
        if wanted not in offered:
            has = ", ".join(offered) or "none"
            raise TinyDeployError(
                f"--framework {wanted!r} is not known there. Frameworks: {has}",
                where=f"board {board.name}",
                fix="Leave it out" if _is_bare(board) else "",
            )
        return wanted
    if _is_bare(board):
        return ""
    if not offered:
        raise TinyDeployError(
            "there is no PlatformIO project for it",
            where=f"board {board.name}",
            fix="Choose another --board or another --format",
        )
    return offered[0]


def make(project: Project, framework: str | None = None) -> Tree:
    """All files of a project; ``framework`` as ``framework_of`` takes it.

    Raises BudgetError where the arena has no room on the board.
    """
    board = project.board
    chosen = framework_of(board, framework)
    assert board is not None
    values = _values(project, board, chosen)
    made: dict[str, Files] = {
        "": {
            "platformio.ini": render("platformio/platformio.ini.j2", **values),
            "README.md": render("platformio/README.md.j2", **values),
            "LICENSE": licence(),
        }
    }
    example = example_files(project, section=None if chosen else _ARENA_SECTION)
    if chosen == "zephyr":
        made["src/"] = {"main.c": render("platformio/main_zephyr.c.j2", **values), **example}
        made[f"src/{project.name}/"] = project.library_files()
        made["zephyr/"] = {
            "CMakeLists.txt": render("platformio/zephyr_CMakeLists.txt.j2", **values),
            "prj.conf": render("platformio/prj.conf.j2", **values),
        }
        return _joined(made)
    main = "main.cpp" if chosen else "main.c"
    made["src/"] = {main: render(f"platformio/{main}.j2", **values), **example}
    made[f"lib/{project.name}/"] = {"library.json": render("platformio/library.json.j2", **values)}
    made[f"lib/{project.name}/src/"] = project.library_files()
    if not chosen:
        made[""] |= _runtime(board, project.compiled.plan.arena_bytes)
        made[""] |= {"link_flags.py": render("platformio/link_flags.py.j2", **values)}
        made["platform/"] = {
            path: render(f"platformio/platform/{template}.j2", **values)
            for path, template in (
                ("local.ini", "local.ini"),
                ("platform.json", "platform.json"),
                ("platform.py", "platform.py"),
                (f"boards/{board.name}.json", "board.json"),
                ("builder/main.py", "main.py"),
                ("builder/upload.py", "upload.py"),
            )
        }
    return _joined(made)


def _joined(made: dict[str, Files]) -> Tree:
    return {f"{folder}{path}": text for folder, files in made.items() for path, text in files.items()}


def _is_bare(board: Board) -> bool:
    """Whether we have startup code for it, and the compilers for such cores bring a C library."""
    chip = board.chip
    return chip.is_buildable and cpu_spec(chip.cpu).arch == _ARCHITECTURE


def _values(project: Project, board: Board, framework: str) -> dict[str, object]:
    title = project.compiled.graph.name
    bare = not framework
    upstream = _upstream(board.platformio) if framework or _builds_bare(board) else None
    values = {
        **published(project, "platformio"),
        "bare": bare,
        "framework": Word(framework) if framework else None,
        "framework_name": framework,
        "board_title": IniText(board.title),
        "board_json": JsonText(board.title),
        "description": JsonText(f"The neural network {title} as plain C, generated by tinydeploy"),
        "url": JsonText(HOMEPAGE),
        "upstream": upstream,
        "default_env": Word("local") if upstream is None else upstream.env,
        "baud": board.uart.baud if board.uart and bare else _DEFAULT_BAUD,
        "chip": Word(board.chip.name),
        "clock_hz": board.clock_hz,
        "flash_bytes": board.chip.flash_bytes,
        "ram_bytes": board.chip.ram_bytes,
        "flags": [Raw(flag) for flag in _FLAGS],
    }
    if bare:
        cpu = cpu_spec(board.chip.cpu)
        values |= {
            "cpu": Word(cpu.key),
            "gcc_prefix": Word(cpu.gcc_prefix),
            "flags": [_flag(flag) for flag in (*_cpu_flags(cpu), *_FLAGS)],
            "link_flags": [_flag(flag) for flag in (*cpu.gcc_flags, *cpu.extra_flags, *_LINK_FLAGS)],
        }
    return values


def _builds_bare(board: Board) -> bool:
    return board.platformio is not None and board.platformio.bare


def _upstream(board: PlatformioBoard | None) -> _Upstream | None:
    if board is None:
        return None
    return _Upstream(
        Word(board.board), Word(board.platform), Word(board.board), Word(board.gcc) if board.gcc else None
    )


def _cpu_flags(cpu: CpuSpec) -> list[str]:
    """The compiler's flags for a core, and what they are meant to give: ``td_cpu.h`` checks it."""
    features = [f"-DTD_CPU_HAS_{feature.upper()}=1" for feature in cpu.features]
    return [*cpu.gcc_flags, *cpu.extra_flags, *features]


def _flag(flag: str) -> Raw:
    if not re.fullmatch(r"-[A-Za-z0-9_=.,+-]+", flag):
        raise ValueError(f"{flag!r} is not a plain flag")
    return Raw(flag)


def _runtime(board: Board, arena_bytes: int) -> Files:
    """The board's C files below ``src/board``, all their headers in ``include``, and the linker script."""
    region = place_arena(board.chip, max(arena_bytes, 8), _STATIC_BYTES)
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        render_board(board, region.name, Path(folder))
        made = {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())}
    files = {"src/board/td_board_config.c": made["td_board_config.c"]}
    for source in runtime_sources(board):
        if source.name != _LIBC:
            path = source.relative_to(runtime_dir()).as_posix().removeprefix("src/")
            files[f"src/board/{path}"] = source.read_text(encoding="utf-8")
    known = {path.name: path.read_text(encoding="utf-8") for path in sorted(runtime_dir().rglob("*.h"))}
    headers = _headers(files, known | made)
    return {
        **files,
        **{f"include/{name}": text for name, text in headers.items()},
        "board.ld": made["board.ld"],
    }


def _headers(files: Files, known: Files) -> Files:
    """The headers that files include, and those that these include."""
    found: Files = {}
    wanted = [name for text in files.values() for name in _included(text)]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = known[name]
            wanted += _included(known[name])
    return dict(sorted(found.items()))


def _included(text: str) -> list[str]:
    return re.findall(r'^#include "(.+)"$', text, re.MULTILINE)
