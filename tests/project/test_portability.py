"""What Windows lacks is not needed: modules, functions, a compiler for the emulator's helper.

Nothing here runs on Windows. The package is imported and used in a process in which it cannot import modules
that exist on POSIX systems only, and where their functions are gone.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
import serial

from tests.conftest import TESTS
from tinydeploy import demo
from tinydeploy.resources import runtime_dir
from tinydeploy.rpc import PortError, SerialTransport, open_transport
from tinydeploy.toolchain import HOST, available, select
from tinydeploy.toolchain.zig import find_zig

ROOT = TESTS.parent
PACKAGES = ("tinydeploy", "mlperf_tiny")

# Other people's packages keep what they use here; they have their own ways on Windows.
GUARD = """
import builtins, importlib, json, os, pkgutil, signal, sys
import numpy, onnx, rich.console, rich.progress, serial, serial.tools.list_ports, typer
try:
    import unicorn
except ImportError:
    pass

MODULES = {"termios", "fcntl", "pty", "tty", "resource", "pwd", "grp", "syslog", "posix", "readline"}
FUNCTIONS = {
    os: ("fork", "forkpty", "killpg", "setsid", "getuid", "geteuid", "getpgid", "openpty", "mkfifo"),
    signal: ("SIGHUP", "SIGQUIT", "SIGALRM", "alarm"),
}
OURS = {"tinydeploy", "mlperf_tiny"}
real_import = builtins.__import__

def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    importer = str((globals or {}).get("__name__", "")).partition(".")[0]
    if level == 0 and name.partition(".")[0] in MODULES and importer in OURS:
        raise AssertionError(f"{globals['__name__']} imports {name}")
    return real_import(name, globals, locals, fromlist, level)

builtins.__import__ = guarded
for module, names in FUNCTIONS.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""

IMPORT_ALL = """
found, missing = [], {}
for package in sorted(OURS):
    folder = importlib.import_module(package).__path__
    for info in pkgutil.walk_packages(folder, package + "."):
        if info.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(info.name)
            found.append(info.name)
        except ImportError as error:
            missing[info.name] = error.name
print(json.dumps({"found": found, "missing": missing}))
"""

COMMAND = """
sys.argv = ["tinydeploy", *json.loads(sys.argv[1])]
if "--without-helper" in sys.argv:
    sys.argv.remove("--without-helper")
    from tinydeploy.emulate.chip import hook
    from tinydeploy.errors import ToolError

    def no_helper(*_):
        raise ToolError("no compiler")

    hook.build_hook = no_helper
from tinydeploy.cli import main
main()
"""


def guarded(code: str, *arguments: str, folder: Path | None = None) -> str:
    """What Python prints that runs the code behind the guard."""
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "ignore", "-c", GUARD + code, *arguments],
        cwd=folder or ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*arguments: object, folder: Path | None = None) -> str:
    return guarded(COMMAND, json.dumps([str(argument) for argument in arguments]), folder=folder)


@pytest.mark.slow
def test_every_module_is_imported_without_what_windows_lacks() -> None:
    result = json.loads(guarded(IMPORT_ALL))
    found = set(result["found"])
    assert {"tinydeploy.cli.app", "tinydeploy.rpc.transport", "tinydeploy.emulate.chip.emulator"} <= found
    assert {"tinydeploy.flash.select", "tinydeploy.boards.new", "mlperf_tiny.cli"} <= found
    optional = {"pyocd", "torch", "unicorn", "tflite_micro", "tensorflow", "scipy"}
    assert {str(name).partition(".")[0] for name in result["missing"].values()} <= optional


@pytest.mark.slow
def test_compile_works_so(tmp_path: Path) -> None:
    out = command("compile", demo.model_path(), "--core", "cortex-m4", "-o", tmp_path / "lib", "--json")
    assert json.loads(out)["arena_bytes"] == 1280
    assert not any(b"\r" in path.read_bytes() for path in (tmp_path / "lib").iterdir())


@pytest.mark.slow
@pytest.mark.emulated
def test_an_emulated_board_works_without_a_compiled_helper(tmp_path: Path) -> None:
    """The blocks are then counted in Python, with the same counts."""
    pytest.importorskip("unicorn", reason="unicorn is not installed")
    arguments = ("profile", demo.model_path(), "--board", "nucleo-f746", "--emulate", "--json")
    slow = json.loads(command(*arguments, "--without-helper", folder=tmp_path))
    fast = json.loads(command(*arguments, folder=tmp_path))
    assert slow == fast


@pytest.mark.parametrize("name", ["COM3", "COM12", r"\\.\COM12", "/dev/cu.usbmodem1103", "/dev/ttyACM0"])
def test_names_of_ports_are_serial_ports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    class Port:
        def close(self) -> None:
            """Nothing is open."""

    def open_port(url: str, baudrate: int, **options: object) -> Port:
        asked.update(options, url=url, baudrate=baudrate)
        return Port()

    monkeypatch.setattr(serial, "serial_for_url", open_port)
    with open_transport(name, 9600) as transport:
        assert isinstance(transport, SerialTransport)
        assert transport.name == name
    assert (asked["url"], asked["baudrate"], asked["exclusive"]) == (name, 9600, True)


# Windows' errors reach us as texts alone, macOS's and Linux's with a number.
PORT_ERRORS = {
    "could not open port 'COM9': FileNotFoundError(2, 'The system cannot find the file', None, 2)": (
        "there is no such port. Plug the board in"
    ),
    "could not open port 'COM3': PermissionError(13, 'Access is denied.', None, 5)": (
        "another program uses the port. Close that program"
    ),
    "could not open port 'COM3': OSError(22, 'The semaphore timeout', None, 121)": (
        "the port cannot be opened (could not open port 'COM3': OSError(22, "
    ),
}


@pytest.mark.parametrize("text", PORT_ERRORS)
def test_what_windows_says_of_ports_is_understood(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise serial.SerialException(text)

    monkeypatch.setattr(serial, "serial_for_url", refuse)
    with pytest.raises(PortError) as caught:
        open_transport("COM3")
    assert f"COM3: {PORT_ERRORS[text]}" in str(caught.value)


def test_a_number_is_understood_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise serial.SerialException(errno.EACCES, "[Errno 13] PermissionError")

    monkeypatch.setattr(serial, "serial_for_url", refuse)
    with pytest.raises(PortError, match="this user may not open the port"):
        open_transport("/dev/ttyACM0")


@pytest.mark.slow
@pytest.mark.parametrize("system", ["x86_64-windows-gnu", "aarch64-macos", "x86_64-linux-musl"])
def test_our_c_of_the_desk_compiles_for_other_systems(system: str, tmp_path: Path) -> None:
    """The harness of the board ``host`` and the emulator's helper; zig knows every system's headers."""
    if "zig" not in available(HOST):
        pytest.skip("zig is not installed")
    command("compile", demo.model_path(), "-o", tmp_path / "lib")
    harness = runtime_dir() / "host"
    hook = ROOT / "tinydeploy" / "emulate" / "chip" / "block_hook.c"
    zig = select("zig", HOST)
    zig.compile(
        [harness / "td_host.c", hook, tmp_path / "lib" / "digits.c"],
        include_dirs=[harness, tmp_path / "lib"],
        out_dir=tmp_path / "obj",
        defines={"TD_TRACE": 1},
        extra=("-target", system),
    )


def test_zig_is_found_by_its_package() -> None:
    found = find_zig()
    if found is None:
        pytest.skip("zig is not installed")
    assert found.name == ("zig.exe" if sys.platform == "win32" else "zig")


def test_texts_name_their_encoding() -> None:
    """Windows' own is not UTF-8, and its line ends are not ours."""
    unnamed = [
        f"{path.relative_to(ROOT)}:{number}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (".read_text()" in line or ".write_text(" in line) and "encoding" not in line
        if not line.rstrip().endswith("(")
    ]
    assert unnamed == []
