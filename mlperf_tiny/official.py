"""The official runner, its files unmodified, against our firmware: device file, test script, port.

A child process runs it (``official_child``), so that what it does to its own interpreter stays there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mlperf_tiny.catalogue import Bench
from mlperf_tiny.firmware import ENERGY_BAUD
from tinydeploy.errors import TinyDeployError, ToolError
from tinydeploy.rpc import LineClosedError
from tinydeploy.rpc.transport import Transport

USB_ID = (0x1209, 0x0001)
"""The identity under which the runner finds the port: pid.codes' one for tests."""

WINDOW_WALL_S = 2.2
"""Five of these are the ten seconds that the runner asks of its own clock."""

_MODES = {"accuracy": "a", "performance": "p", "energy": "e"}
_PIECE = 4096


@dataclass(frozen=True, slots=True)
class Official:
    """What the runner left: its output and its files."""

    output: str
    results: Path
    log: Path

    @property
    def passed(self) -> bool:
        """Whether it reached its summary without an error of its own."""
        text = self.results.read_text(encoding="utf-8") if self.results.is_file() else ""
        return ("Median throughput" in text or "Top 1%" in text) and "ERROR" not in text


def run_official(
    runner: Path,
    bench: Bench,
    mode: str,
    port: str,
    data: Path,
    folder: Path,
    *,
    baud: int = 115200,
    runs: int = 1,
    warm_ups: int = 0,
    timeout_s: float = 7200.0,
    echo: Callable[[str], None] = lambda _line: None,
) -> Official:
    """Run the official runner's ``main.py`` on a port; its files go to ``folder``.

    ``runs`` and ``warm_ups`` fill performance windows. Raises TinyDeployError where ``runner`` is not the
    runner's folder, ToolError where it fails.
    """
    main = _main_of(runner)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "devices.yaml").write_text(_device_yaml(baud), encoding="utf-8")
    (folder / "tests.yaml").write_text(_test_yaml(bench, mode, runs, warm_ups), encoding="utf-8")
    command = [
        sys.executable,
        str(Path(__file__).with_name("official_child.py")),
        str(main),
        port,
        *("--device_list", "devices.yaml", "--test_script", "tests.yaml"),
        *("--dataset_path", str(data.resolve()), "--mode", _MODES[mode]),
    ]
    sessions = folder / "sessions"
    shutil.rmtree(sessions, ignore_errors=True)
    output: list[str] = []
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    ) as process:
        watchdog = threading.Timer(timeout_s, process.kill)
        watchdog.start()
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            echo(line.rstrip())
        code = process.wait()
        watchdog.cancel()
    found = sorted(sessions.glob("*/results.txt"))
    if code != 0 or not found:
        last = [line.strip() for line in output if line.strip()][-1:] or ["no output"]
        raise ToolError(f"the official runner failed: {last[0][:200]}", where=str(main))
    return Official("".join(output), found[-1], found[-1].with_name("log.txt"))


@contextmanager
def pty_of(line: Transport, *, hold_s: float = 0.0) -> Iterator[str]:
    """A pseudo terminal that is the other end of a line; yields its path.

    The answer to ``infer`` is held back until ``hold_s`` after the command: an emulator may be faster than
    its board, and the runner's own clock must see a device that takes its time.
    """
    try:
        import pty
        import tty
    except ImportError:
        raise ToolError(
            "this system has no pseudo terminals", fix="Run the official runner on a real port"
        ) from None
    outside, inside = pty.openpty()
    tty.setraw(inside)
    stop = threading.Event()
    held_until = [0.0]

    def to_device() -> None:
        with suppress(OSError, LineClosedError):
            while not stop.is_set():
                data = os.read(outside, _PIECE)
                if b"infer" in data:
                    held_until[0] = time.monotonic() + hold_s
                line.write(data)

    def to_host() -> None:
        with suppress(OSError, LineClosedError):
            while not stop.is_set():
                if data := line.read(0.1):
                    time.sleep(max(0.0, held_until[0] - time.monotonic()))
                    os.write(outside, data)

    threads = [threading.Thread(target=pump, daemon=True) for pump in (to_device, to_host)]
    for thread in threads:
        thread.start()
    try:
        yield os.ttyname(inside)
    finally:
        stop.set()
        threads[1].join()
        os.close(inside)
        os.close(outside)


def _main_of(runner: Path) -> Path:
    for folder in (runner, runner / "benchmark" / "runner", runner / "runner"):
        if (folder / "main.py").is_file() and (folder / "device_under_test.py").is_file():
            return (folder / "main.py").resolve()
    raise TinyDeployError(
        "does not hold the official runner",
        where=str(runner),
        fix="Give a checkout of mlcommons/tiny, or its folder benchmark/runner",
    )


def _device_yaml(baud: int) -> str:
    vendor, product = USB_ID
    return (
        "- name: tinydeploy\n"
        "  type: dut\n"
        "  baud:\n"
        f"    energy: {ENERGY_BAUD}\n"
        f"    performance: {baud}\n"
        f"    accuracy: {baud}\n"
        "  usb:\n"
        f"    {vendor:#06x}: {product:#06x}\n"
    )


def _test_yaml(bench: Bench, mode: str, runs: int, warm_ups: int) -> str:
    loop = "loop" if mode == "accuracy" else "loop 5"
    runs, warm_ups = (1, 0) if mode == "accuracy" else (runs, warm_ups)
    return (
        f"{bench.id}:\n"
        f"  name: {bench.title.replace(' ', '_').replace(',', '')}\n"
        f"  model: {bench.id}\n"
        "  truth_file: y_labels.csv\n"
        "  script:\n"
        f"    - {loop}:\n"
        "      - download\n"
        f"      - infer {runs} {warm_ups}\n"
    )
