"""Paths with blanks, quotes, shell's and make's special characters and foreign letters work everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli.conftest import Cli
from tests.cli.test_failures import disk as disk  # a file system of its own
from tests.flash.images import pattern, write_elf
from tests.flash.test_drive import FakeDrive
from tests.flash.test_openocd import CONFIG
from tests.shared_data import MLPERF, needs_shared
from tinydeploy import demo
from tinydeploy.boards import load_board
from tinydeploy.emulate import available_emulators, start_emulator
from tinydeploy.emulate.remote_bitbang import RemoteBitbang
from tinydeploy.firmware import Segment, read_image
from tinydeploy.flash import flash_board
from tinydeploy.flash.uf2 import from_uf2
from tinydeploy.resources import boards_dir
from tinydeploy.rpc import Client
from tinydeploy.toolchain import HOST, available, cpu_spec

ODD = "mödel dir" if sys.platform == "win32" else 'mödel dir\'s "x" $HOME 100% #1 [a] {b} &\\出力'
FLASH = 0x0800_0000
EMULATED = load_board("qemu-m4")


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an odd name, in which temporary files lie too."""
    folder = tmp_path / ODD
    (folder / "tmp ü").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(folder / "tmp ü"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp ü"))
    shutil.copyfile(demo.model_path(), folder / "ö 1.tflite")
    with np.load(demo.model_path().with_name("digits_samples.npz")) as samples:
        np.savez(folder / "in ü.npz", in0=samples["in0"][:2])
    return folder


def nothing_is_left(odd: Path) -> None:
    assert list((odd / "tmp ü").iterdir()) == []


def need(board: str) -> None:
    if not available_emulators(load_board(board)):
        pytest.skip(f"no emulator of {board} is installed")


def test_inspect_and_compile(odd: Path, cli: Cli) -> None:
    assert cli("inspect", odd / "ö 1.tflite", "--json").json["unsupported"] == []
    assert cli("inspect", odd / "ö 1.tflite").code == 0
    made = cli("compile", odd / "ö 1.tflite", "-o", odd / "lib 出力", "--core", "cortex-m4", "--json")
    assert made.code == 0, made.stderr
    assert (odd / "lib 出力" / f"{made.json['name']}.h").is_file()
    assert odd.name not in (odd / "lib 出力" / "CMakeLists.txt").read_text(encoding="utf-8")


def test_a_missing_file_is_named_as_it_is(odd: Path, cli: Cli) -> None:
    failed = cli("inspect", odd / "ä 2.tflite")
    assert failed.code == 1
    assert str(odd / "ä 2.tflite") in failed.stderr


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
def test_build_and_run(toolchain: str, odd: Path, cli: Cli) -> None:
    need("qemu-m4")
    if toolchain not in available(cpu_spec("cortex-m4")):
        pytest.skip(f"{toolchain} is not installed")
    model, given = odd / "ö 1.tflite", ("--float", "--input", odd / "in ü.npz")
    built = cli(
        *("build", model, "--board", "qemu-m4", "--toolchain", toolchain, "-o", odd / "image 1", "--json")
    )
    assert built.code == 0, built.stderr
    elf = Path(built.json["elf"])
    assert {path.parent for path in (elf, elf.with_suffix(".hex"))} == {odd / "image 1"}
    emulated = ("--board", "qemu-m4", "--emulate")
    (odd / "new ß").mkdir()
    for number, where in enumerate(
        ((model, *emulated, "--toolchain", toolchain), (*emulated, "--firmware", elf)), start=1
    ):
        done = cli("run", *where, *given, "-o", odd / "new ß" / f"out {number}.npz")
        assert done.code == 0, done.stderr
    one, two = (np.load(odd / "new ß" / f"out {number}.npz")["out0"] for number in (1, 2))
    np.testing.assert_array_equal(one, two)
    nothing_is_left(odd)


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
def test_on_the_host(toolchain: str, odd: Path, cli: Cli) -> None:
    if toolchain not in available(HOST):
        pytest.skip(f"{toolchain} is not installed")
    done = cli(
        "verify", odd / "ö 1.tflite", "--board", "host", "--toolchain", toolchain, "--samples", 2, "--json"
    )
    assert done.code == 0, done.stderr
    assert done.json["bit_exact"] is True
    nothing_is_left(odd)


@pytest.mark.slow
@pytest.mark.emulated
def test_verify_and_profile(odd: Path, cli: Cli) -> None:
    need("nucleo-f746")
    where = ("--board", "nucleo-f746", "--emulate")
    found = cli("verify", odd / "ö 1.tflite", *where, "--samples", 2, "--json")
    assert found.code == 0, found.stderr
    found = cli("profile", odd / "ö 1.tflite", *where, "--json")
    assert found.code == 0, found.stderr
    nothing_is_left(odd)


def test_quantize(odd: Path, cli: Cli) -> None:
    rng = np.random.default_rng(3)
    weights = numpy_helper.from_array(rng.normal(size=(8, 4)).astype(np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (odd / "ö.onnx").write_bytes(model.SerializeToString())
    np.savez(odd / "s ö.npz", x=rng.normal(size=(16, 1, 8)).astype(np.float32))
    done = cli(
        *("quantize", odd / "ö.onnx", "--data", odd / "s ö.npz", "-o", odd / "q ö.onnx"),
        *("--html", odd / "q ö.html"),
    )
    assert done.code == 0, done.stderr
    onnx.checker.check_model(onnx.load(odd / "q ö.onnx"))
    assert (odd / "q ö.html").is_file()


@pytest.mark.slow
def test_boards_of_ones_own(odd: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).parent.parent / "boards" / "new" / "riscv.dts"
    shutil.copyfile(source, odd / "zephyr ö.dts")
    made = cli("boards", "new", odd / "zephyr ö.dts", "-o", odd / "my boards ö" / "mine ö.toml", "--json")
    assert made.code == 0, made.stderr
    file, chip = (Path(path) for path in made.json["files"])
    assert (file.name, chip.parent.name) == ("mine ö.toml", "chips")
    built = cli("build", odd / "ö 1.tflite", "--board", file, "-o", odd / "b", "--json")
    assert built.code == 0, built.stderr
    monkeypatch.setenv("TINYDEPLOY_BOARD_PATH", str(file.parent))
    assert load_board(made.json["board"]).path == file


@pytest.mark.parametrize("form", ["bin", "uf2"])
def test_a_drive(form: str, odd: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    text = (boards_dir() / "nucleo-f746.toml").read_text(encoding="utf-8")
    probe = f'[[probe]]\ntool = "drive"\nconfig = "NODE_F746ZG"\nformat = "{form}"\n'
    probe += "family = 0xE48BFF56\n" if form == "uf2" else ""
    start, end = text.index("[[probe]]"), text.index("[[emulator]]")
    (odd / "mine.toml").write_text(text[:start] + probe + text[end:], encoding="utf-8")
    segment = Segment(FLASH, pattern(5000))
    elf = write_elf(odd / "my image ö.elf", [segment], FLASH)
    drive = FakeDrive(odd / "media ö" / "NODE_F746ZG")
    monkeypatch.setenv("TINYDEPLOY_DRIVES", str(drive.folder.parent))
    done = cli("flash", elf, "--board", odd / "mine.toml")
    drive.join()
    assert done.code == 0, done.stderr
    if form == "bin":
        assert drive.taken == segment.data
    else:
        assert from_uf2(drive.taken)[1][0].data[:5000] == segment.data
    nothing_is_left(odd)


@pytest.mark.slow
@pytest.mark.emulated
def test_openocd(odd: Path) -> None:
    """The real OpenOCD takes its configuration and the image from there."""
    if shutil.which("openocd") is None:
        pytest.skip("openocd is not installed")
    folder = odd.parent / "mödel dir's $HOME 100% #1 出力"
    folder.mkdir()
    with RemoteBitbang(load_board("nucleo-f746")) as chip:
        (folder / "model.cfg").write_text(CONFIG.format(port=chip.port), encoding="utf-8")
        text = (boards_dir() / "nucleo-f746.toml").read_text(encoding="utf-8")
        text = text.replace("board/st_nucleo_f7.cfg", "model.cfg")
        (folder / "mine ö.toml").write_text(text, encoding="utf-8")
        elf = write_elf(odd / "my image ö.elf", [Segment(FLASH, pattern(1000))], FLASH)
        flash_board(load_board(folder / "mine ö.toml"), elf, tool="openocd")
        assert chip.target.content[:1000] == pattern(1000)


@needs_shared
@pytest.mark.slow
def test_mlperf(odd: Path, cli: Cli) -> None:
    models = odd / "models ö"
    models.mkdir()
    shutil.copyfile(MLPERF / "ad01_int8.tflite", models / "ad01_int8.tflite")
    done = cli(
        *("mlperf", "firmware", "--bench", "ad01", "--board", "nucleo-f746", "--models", models),
        *("-o", odd / "run ö", "--json"),
    )
    assert done.code == 0, done.stderr
    assert read_image(Path(done.json["elf"])).sizes.flash_bytes == done.json["flash_bytes"]
    assert Path(done.json["elf"]).parent == odd / "run ö"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["cmake", "arduino", "platformio"])
def test_export(form: str, odd: Path, cli: Cli) -> None:
    done = cli(*("export", odd / "ö 1.tflite", "--board", "nucleo-f746", "--format", form, "-o", odd / "p ö"))
    if "No such command" in done.stderr:
        pytest.skip("there is no command export")
    assert done.code == 0, done.stderr
    assert any((odd / "p ö").rglob("*.h"))


# Homes and current folders.


def program(*arguments: object, folder: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; None takes a variable away."""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TINYDEPLOY_CACHE": None}
    variables |= environment
    return subprocess.run(
        [sys.executable, "-m", "tinydeploy", *map(str, arguments)],
        cwd=folder,
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.parametrize("home", ["missing", "unset", "odd"])
def test_a_home_that_is_missing(home: str, odd: Path) -> None:
    """The cache then lies with the temporary files."""
    need("nucleo-f746")
    places: dict[str, str | None] = {
        "missing": str(odd / "ö 1.tflite" / "home"),
        "unset": None,
        "odd": str(odd / "hömë"),
    }
    done = program(
        *("verify", "ö 1.tflite", "--board", "nucleo-f746", "--emulate", "--samples", 2),
        folder=odd,
        HOME=places[home],
        XDG_CACHE_HOME=None,
    )
    assert done.returncode == 0, done.stderr
    assert "bit-exact: yes" in done.stdout


@pytest.mark.slow
@pytest.mark.emulated
def test_a_home_and_a_current_folder_that_are_read_only(odd: Path, disk: Path) -> None:
    need("qemu-m4")
    shutil.copyfile(odd / "ö 1.tflite", disk / "ö.tflite")
    shutil.copyfile(odd / "in ü.npz", disk / "in.npz")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    board = ("--board", "qemu-m4", "--emulate")
    done = program("verify", "ö.tflite", *board, "--samples", 2, folder=disk, HOME=str(disk))
    assert done.returncode == 0, done.stderr
    done = program(
        *("run", "ö.tflite", *board, "--float", "--input", "in.npz", "-o", odd / "out.npz"),
        folder=disk,
        HOME=str(disk),
    )
    assert done.returncode == 0, done.stderr
    failed = program("build", "ö.tflite", "--board", "qemu-m4", folder=disk, HOME=str(disk))
    assert failed.returncode == 1
    assert failed.stderr == "error: build: cannot write: Read-only file system. Choose another -o\n"


@pytest.mark.emulated
def test_an_image_at_an_odd_place_runs_in_every_emulator(odd: Path, cli: Cli) -> None:
    need("qemu-m4")
    built = cli("build", demo.model_path(), "--board", "qemu-m4", "-o", odd / "image ö", "--json")
    assert built.code == 0, built.stderr
    for kind in available_emulators(EMULATED):
        with (
            start_emulator(EMULATED, Path(built.json["elf"]), kind) as emulator,
            Client.connect(emulator.uart) as client,
        ):
            assert client.describe().name == "digits"
