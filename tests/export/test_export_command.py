"""``tinydeploy export``: every format from the command line, its JSON, and its messages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.conftest import cli as cli
from tests.cli.conftest import small_model as small_model
from tests.tflite_builder import ModelBuilder
from tinydeploy.export.formats import FORMATS

MARKS = {
    "platformio": "platformio.ini",
    "arduino": "library.properties",
    "zephyr": "zephyr/module.yml",
    "espidf": "idf_component.yml",
    "cmake": "CMakeLists.txt",
    "cmsis-pack": "TinyDeploy.net.pdsc",
}


def test_every_format_is_marked_here() -> None:
    assert MARKS.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", MARKS)
def test_a_project_is_written(name: str, cli: Cli, small_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "mein Gerät"
    board = "esp32" if name == "espidf" else "nucleo-f746"
    found = cli(
        "export", small_model, "--format", name, "--board", board, "--name", "net", "-o", out, "--json"
    ).json
    assert (found["format"], found["name"], found["board"]) == (name, "net", board)
    written = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert written == found["files"]
    for mark in (MARKS[name], "README.md", "LICENSE"):
        assert any(f"/{path}".endswith(f"/{mark}") for path in written), mark
    assert sum(path.endswith("net_vector.c") for path in written) == 1
    assert sum(path.endswith("net_weights.c") for path in written) == 1
    assert found["arena_bytes"] >= found["tensor_bytes"] == 320


def test_the_text_says_what_to_read(cli: Cli, small_model: Path, tmp_path: Path) -> None:
    shown = cli("export", small_model, "--format", "cmake", "--core", "cortex-m4", "-o", tmp_path / "p")
    assert shown.stdout.splitlines()[0] == "small for cortex-m4: a CMake package"
    assert "README.md says how to build them" in shown.stdout


def test_a_framework_of_platformio(cli: Cli, small_model: Path, tmp_path: Path) -> None:
    arguments = ["export", small_model, "--format", "platformio", "--board", "rpi-pico", "-o", tmp_path / "p"]
    assert cli(*arguments, "--framework", "arduino").code == 0
    assert "framework = arduino" in (tmp_path / "p" / "platformio.ini").read_text()
    assert (tmp_path / "p" / "src" / "main.cpp").is_file()


MESSAGES = {
    ("--format", "keil"): (
        "--format 'keil' is not known. Formats: platformio, arduino, zephyr, espidf, cmake, cmsis-pack"
    ),
    ("--format", "platformio"): "--format platformio needs a board. Add --board NAME",
    ("--format", "platformio", "--board", "qemu-rv32"): "board qemu-rv32: there is no PlatformIO project",
    ("--format", "cmake", "--framework", "arduino"): "--framework is not for --format cmake. Leave it out",
    (
        "--format",
        "platformio",
        "--board",
        "qemu-m4",
        "--framework",
        "zephyr",
    ): "Frameworks: none. Leave it out",
    ("--format", "cmake", "--core", "z80"): "core 'z80' is not known. Known cores: host",
}


@pytest.mark.parametrize("options", MESSAGES, ids=" ".join)
def test_messages(options: tuple[str, ...], cli: Cli, small_model: Path, tmp_path: Path) -> None:
    failed = cli("export", small_model, *options, "-o", tmp_path / "out")
    assert failed.code == 1
    assert MESSAGES[options] in failed.stderr
    assert len(failed.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_model_that_no_memory_of_the_board_holds(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "large.tflite"
    path.write_bytes(ModelBuilder().input((1, 64, 64, 8)).conv2d(8, (3, 3)).build())
    for name in ("platformio", "arduino"):
        failed = cli("export", path, "--format", name, "--board", "stm32vldiscovery", "-o", tmp_path / "out")
        assert failed.code == 1
        assert "stm32vldiscovery has 8,192 in one piece; largest at the peak:" in failed.stderr
        assert not (tmp_path / "out").exists()


def test_a_file_where_the_folder_should_be(cli: Cli, small_model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    failed = cli("export", small_model, "--format", "cmake", "-o", tmp_path / "out")
    assert failed.code == 1
    assert failed.stderr == f"error: {tmp_path / 'out'}: cannot write: Not a directory. Choose another -o\n"
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("number", [13, 28, 30])
def test_a_folder_that_takes_no_files(
    number: int, cli: Cli, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permission denied, no space left, a read-only file system: one line, nothing half written."""

    def refuse(path: Path, _data: bytes) -> int:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    failed = cli(
        "export", small_model, "--format", "platformio", "--board", "qemu-m4", "-o", tmp_path / "out"
    )
    assert failed.code == 1
    assert f"cannot write: {os.strerror(number)}. Choose another -o" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
