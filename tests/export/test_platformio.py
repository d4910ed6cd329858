"""PlatformIO projects: built by PlatformIO itself, uploaded into an emulator, and run there."""

from __future__ import annotations

import configparser
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.export.conftest import PlatformIo
from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.stub_build import STUBS, build_with_cmake, compiled, damaged, needs_make, written
from tests.shared_data import SHARED, mlperf_model
from tinydeploy.boards import all_boards, load_board
from tinydeploy.demo import model_path
from tinydeploy.emulate import start_emulator
from tinydeploy.emulate.line import Line
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import Project, Tree, make_project, platformio
from tinydeploy.export.platformio import framework_of
from tinydeploy.firmware.structure import check_structure, read_structure
from tinydeploy.toolchain import CPP11, HOST, cpu_spec, select

START_S = 20.0
BOARDS = [board for board in all_boards() if not board.is_host]
# With and without FPU, and each boot block.
BARE = {
    ("fpu" in cpu_spec(board.chip.cpu).features, board.chip.layout.boot): board.name
    for board in BOARDS
    if board.chip.layout and cpu_spec(board.chip.cpu).arch == "arm"
}
FRAMEWORKS = [
    (board.name, framework)
    for board in BOARDS
    if board.platformio
    for framework in board.platformio.frameworks
]

needs_compiler = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
)


@cache
def project(board: str, model: str = "digits") -> Project:
    found = load_board(board)
    return make_project(compiled(model, found.chip.cpu), found)


def ini(tree: Tree) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    parser.read_string(text_of(tree, "platformio.ini"))
    return parser


class TestFiles:
    @pytest.mark.parametrize("model", ["digits", "mixed", "hostile"])
    @pytest.mark.parametrize("framework", [None, "arduino", "zephyr"])
    def test_names_of_a_model_stay_text(self, model: str, framework: str | None) -> None:
        tree = platformio.make(project("nucleo-f746", model), framework)
        assert [*path_faults(tree), *text_faults(tree)] == []
        for path, content in tree.items():
            if path.endswith(".json"):
                json.loads(content)
        library = f"lib/{project('nucleo-f746', model).name}/library.json"
        if model == "hostile" and framework != "zephyr":
            assert '*/ "model" \\<U+000A>??/' in json.loads(tree[library])["description"]
        assert ini(tree).sections()[-1] == ("env:nucleo_f746zg" if framework else "env:local")

    def test_bare_metal(self) -> None:
        tree = platformio.make(project("nucleo-f746"))
        found = ini(tree)
        assert found["platformio"]["default_envs"] == "nucleo_f746zg"
        assert dict(found["env:nucleo_f746zg"]) == {
            "platform": "ststm32",
            "board": "nucleo_f746zg",
            "platform_packages": "toolchain-gccarmnoneeabi@~1.120301.0",
        }
        assert dict(found["env:local"]) == {
            "platform": "symlink://${PROJECT_DIR}/platform",
            "board": "nucleo-f746",
        }
        assert found["env"]["build_flags"].split() == [
            "-mcpu=cortex-m7",
            "-mthumb",
            "-mfpu=fpv5-sp-d16",
            "-mfloat-abi=hard",
            "-DTD_CPU_HAS_FPU=1",
            "-DTD_CPU_HAS_DSP=1",
            "-ffp-contract=off",
            "-fno-math-errno",
        ]
        assert '"-mfloat-abi=hard",' in text_of(tree, "link_flags.py")
        assert {
            "src/main.c",
            "src/digits_example.c",
            "lib/digits/src/digits.h",
            "README.md",
            "LICENSE",
        } <= set(tree)
        assert "src/board/td_string.c" not in tree

    def test_a_board_that_platformio_does_not_know_is_built_locally(self) -> None:
        found = ini(platformio.make(project("qemu-m4")))
        assert found["platformio"]["default_envs"] == "local"
        assert found.sections() == ["platformio", "env", "env:local"]

    @pytest.mark.parametrize(("board", "framework"), FRAMEWORKS)
    def test_frameworks(self, board: str, framework: str) -> None:
        tree = platformio.make(project(board), framework)
        assert [*path_faults(tree), *text_faults(tree)] == []
        (env,) = [name for name in ini(tree).sections() if name.startswith("env:")]
        assert ini(tree)[env]["framework"] == framework
        assert "board.ld" not in tree
        assert ("zephyr/prj.conf" in tree) == (framework == "zephyr")

    def test_the_readme_says_how_to_make_it_again(self) -> None:
        text = text_of(platformio.make(project("nucleo-f746")), "README.md")
        assert (
            "tinydeploy export MODEL --format platformio --board nucleo-f746 --name digits -o FOLDER" in text
        )
        assert "| arena | 1,2" in text
        arduino = text_of(platformio.make(project("nucleo-f746"), "arduino"), "README.md")
        assert "--framework arduino --name digits" in arduino


class TestMessages:
    @pytest.mark.parametrize(
        ("board", "framework", "message"),
        [
            (None, None, "--format platformio needs a board. Add --board NAME"),
            ("host", None, "board host: there is no PlatformIO project for it. Choose another --board"),
            ("qemu-rv32", None, "board qemu-rv32: there is no PlatformIO project for it"),
            (
                "nucleo-f746",
                "mbed",
                "board nucleo-f746: --framework 'mbed' is not known there. Frameworks: arduino, zephyr.",
            ),
            (
                "qemu-m4",
                "arduino",
                "--framework 'arduino' is not known there. Frameworks: none. Leave it out",
            ),
        ],
    )
    def test_what_a_board_has_not(self, board: str | None, framework: str | None, message: str) -> None:
        with pytest.raises(TinyDeployError) as failed:
            framework_of(load_board(board) if board else None, framework)
        assert message in str(failed.value)

    @pytest.mark.parametrize(
        ("board", "old", "new", "message"),
        [
            (
                "nucleo-f746",
                'frameworks = ["arduino", "zephyr"]',
                'frameworks = ["mbed"]',
                "platformio.frameworks: got 'mbed', allowed: arduino, zephyr",
            ),
            (
                "esp32",
                'board = "esp32dev"',
                'board = "esp32dev"\nbare = true',
                "platformio.bare: got true, but the chip esp32 has no firmware of ours",
            ),
            ("nucleo-f746", 'platform = "ststm32"', "", "platformio.platform: this key is missing"),
            ("nucleo-f746", "bare = true", "naked = true", "platformio.naked: unknown key"),
        ],
    )
    def test_a_wrong_table_of_a_board(
        self, board: str, old: str, new: str, message: str, tmp_path: Path
    ) -> None:
        text = load_board(board).path.read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "b.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(TinyDeployError) as failed:
            load_board(str(tmp_path / "b.toml"))
        assert message in str(failed.value)

    def test_boards_of_vendor_tools_get_a_framework(self) -> None:
        assert framework_of(load_board("esp32"), None) == "arduino"


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", BARE.values())
def test_bare_boards_link_with_the_flags_of_its_project(name: str, tmp_path: Path) -> None:
    """What PlatformIO would call, in one command; the image has the structure that the board demands."""
    tree = platformio.make(project(name))
    root = written(tree, tmp_path / "p")
    flags = ini(tree)["env"]["build_flags"].split()
    sources = [str(path.relative_to(root)) for path in sorted(root.rglob("*.c"))]
    command = ["arm-none-eabi-gcc", "-Os", "-Wall", "-Wextra", "-Werror", "-ffunction-sections"]
    command += ["-fdata-sections", *flags, "-Iinclude", "-Isrc", "-Ilib/digits/src", *sources]
    command += ["-T", "board.ld", "-nostartfiles", "-Wl,--gc-sections", "-Wl,--build-id=none", "-o", "f.elf"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    check_structure(load_board(name), read_structure(root / "f.elf"))


def printed(line: Line, name: str) -> str:
    """What a board sends until it says whether it is right."""
    received, deadline = "", time.monotonic() + START_S
    while f"{name}: PASS\r\n" not in received and f"{name}: FAIL\r\n" not in received:
        assert time.monotonic() < deadline, received
        received += line.read(0.5).decode("ascii")
    return received


@needs_compiler
@pytest.mark.emulated
@pytest.mark.slow
class TestBuilds:
    def test_the_command_of_the_manual_then_pio_run(self, pio: PlatformIo, cli: Cli, tmp_path: Path) -> None:
        """In a folder with a space and an umlaut; the image runs, and again for every key."""
        model = mlperf_model("kws") if SHARED.is_dir() else model_path()
        root = tmp_path / "mein Gerät"
        made = cli(
            "export", model, "--format", "platformio", "--board", "nucleo-f746", "-o", root, "--name", "net"
        )
        assert made.code == 0, made.stderr
        done = pio.run(root, TINYDEPLOY_PLATFORM="local", PLATFORMIO_BUILD_FLAGS="-Wextra -Werror")
        assert "Processing local" in done.stdout
        assert "Processing nucleo" not in done.stdout
        board = load_board("nucleo-f746")
        elf = root / ".pio" / "build" / "local" / "firmware.elf"
        check_structure(board, read_structure(elf))
        with start_emulator(board, elf) as emulator:
            assert printed(emulator.uart, "net").splitlines()[-1] == "net: PASS"
            emulator.uart.write(b"\n")
            assert "net: PASS" in printed(emulator.uart, "net")

    def test_the_same_project_on_what_upstream_adds(self, pio: PlatformIo, tmp_path: Path) -> None:
        root = written(tree_for("nucleo-f746"), tmp_path / "p")
        pio.run(root, PLATFORMIO_BUILD_FLAGS="-Wextra -Werror")
        board = load_board("nucleo-f746")
        elf = root / ".pio" / "build" / "nucleo_f746zg" / "firmware.elf"
        check_structure(board, read_structure(elf))
        with start_emulator(board, elf) as emulator:
            assert "digits: PASS" in printed(emulator.uart, "digits")

    def test_upload_through_gdb_into_an_emulator(
        self, pio: PlatformIo, halted: Halted, tmp_path: Path
    ) -> None:
        """Nobody at the port is one line; what runs then finds that its vector was changed."""
        root = written(
            damaged(tree_for("qemu-m4"), "src/digits_vector.c", "-122, -107", "-122, -106"), tmp_path / "p"
        )
        with (root / "platformio.ini").open("a") as stream:
            stream.write("upload_protocol = gdb\n")
        refused = pio.run(root, "-t", "upload", PLATFORMIO_UPLOAD_PORT="127.0.0.1:9", fails=True)
        (line,) = [line for line in refused.stderr.splitlines() if line.startswith("error: ")]
        assert "127.0.0.1:9" in line
        assert "Traceback" not in refused.stderr
        done = pio.run(root, "-t", "upload", PLATFORMIO_UPLOAD_PORT=f"127.0.0.1:{halted.port}")
        assert "flashed .pio/build/local/firmware.elf to qemu-m4 through gdb" in done.stdout
        shown = printed(halted.line, "digits")
        assert "digits out0: element 1 is -107, not -106\r\n" in shown
        assert shown.endswith("digits: FAIL\r\n")


def test_an_upload_without_tinydeploy_says_what_to_install(tmp_path: Path) -> None:
    root = written(tree_for("qemu-m4"), tmp_path / "p")
    script = root / "platform" / "builder" / "upload.py"
    command = [sys.executable, "-I", "-S", str(script), "f.elf", "qemu-m4", "gdb", "127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: tinydeploy is missing. Run: ")


def tree_for(board: str) -> Tree:
    return platformio.make(project(board))


@dataclass(frozen=True, slots=True)
class Halted:
    """A machine without an image: the port of its gdb server, and its serial line."""

    port: int
    line: Line


@pytest.fixture
def halted() -> Iterator[Halted]:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serial = f"tcp:127.0.0.1:{listener.getsockname()[1]},nodelay=on"
        command = ["qemu-system-arm", "-machine", "mps2-an386", "-S", "-gdb", f"tcp:127.0.0.1:{port}"]
        command += ["-serial", serial, "-display", "none", "-monitor", "none", "-icount", "shift=0"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
            listener.settimeout(START_S)
            connection, _ = listener.accept()
            line = Line(connection, "qemu")
            yield Halted(port, line)
            line.close()
            process.kill()


def test_the_arduino_application_runs(tmp_path: Path) -> None:
    """Against a core of ours, C as C and the application as C++."""
    root = written(platformio.make(project("nucleo-f746"), "arduino"), tmp_path / "p")
    main = tmp_path / "main.cpp"
    text = (root / "src" / "main.cpp").read_text()
    main.write_text((STUBS / "arduino" / "main.cpp.in").read_text().replace("@SKETCH@", text))
    compiler = select("gcc", HOST)
    include_dirs = [root / "lib" / "digits" / "src", root / "src", STUBS / "arduino"]
    sources = sorted([*(root / "lib").rglob("*.c"), *(root / "src").glob("*.c")])
    objects = compiler.compile(sources, include_dirs=include_dirs, out_dir=tmp_path / "c", optimize="-O1")
    objects += compiler.compile(
        [main],
        include_dirs=include_dirs,
        out_dir=tmp_path / "cpp",
        language=CPP11,
        warnings=["-Wall", "-Werror"],
    )
    program = compiler.link_host(objects, tmp_path / "app")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "digits: PASS"


@needs_make
def test_the_zephyr_application_runs(tmp_path: Path) -> None:
    root = written(platformio.make(project("nucleo-f746"), "zephyr"), tmp_path / "p")
    build_with_cmake(root / "zephyr", tmp_path / "build", f"-DZephyr_DIR={STUBS / 'zephyr' / 'cmake'}")
    done = subprocess.run(
        [str(tmp_path / "build" / "app")], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "digits: PASS"
