"""The device's answers, word for word: what the official runner and case g14 expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mlperf_tiny.conftest import answer

GREETING = "m-timestamp-mode-performance\r\nm-lap-us-0\r\nm-init-done\r\nm-ready\r\n"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("name%", "m-name-dut-[host]\r\n"),
        ("profile%", "m-profile-[tinydeploy MLPerf Tiny firmware]\r\nm-model-[kws01]\r\n"),
        ("timestamp%", "m-lap-us-0\r\n"),
        ("nonsense%", "e-[Unknown command: nonsense]\r\n"),
        ("%", "e-[Unknown command: ]\r\n"),
        ("db%", "e-[Command 'db' requires a subcommand]\r\n"),
        ("db load%", "e-[Command 'db load' requires the # of bytes]\r\n"),
        ("db load 0%", "e-[Command 'db load' must be >0 bytes]\r\n"),
        ("db load -3%", "e-[Command 'db load' must be >0 bytes]\r\n"),
        ("db load 100%", "m-[Expecting 100 bytes]\r\n"),
        ("db load 101%", "e-[Supplied buffer size 101 exceeds maximum of 100]\r\n"),
        ("db 0%", "e-[Insufficent number of hex digits]\r\n"),
        ("db 0g%", "e-[Invalid hex digit '0g']\r\n"),
        ("db 00%", "e-[Command 'db' requires 'db load' first]\r\n"),
        ("infer 0 1%", "e-[Inference iterations must be >0]\r\n"),
        ("infer 1 -1%", "e-[Inference warmup must be >=0]\r\n"),
        ("infer 1 1%", "e-[Input has 0 bytes, which is not what the model takes]\r\n"),
        (f"{'x' * 200}%", f"e-[Unknown command: {'x' * 80}]\r\n"),
    ],
)
def test_one_command(program: Path, command: str, expected: str) -> None:
    assert answer(program, command.encode()) == f"{GREETING}{expected}m-ready\r\n"


def test_an_inference_with_commands_glued_together(program: Path) -> None:
    commands = (
        "db load 100%" + "".join(f"db {'01' * 25}%" for _ in range(4)) + "db print%infer 3 2%results%laps%"
    )
    said = answer(program, commands.encode()).removeprefix(GREETING)
    loading = "m-[Expecting 100 bytes]\r\nm-ready\r\n" + 3 * "m-ready\r\n" + "m-load-done\r\nm-ready\r\n"
    assert said.startswith(loading)
    stored = 12 * ("m-buffer-" + "-".join(["01"] * 8) + "\r\n") + "m-buffer-01-01-01-01\r\n"
    results = "m-results-[0.100,-0.100]\r\n"
    assert said.removeprefix(loading) == (
        f"{stored}m-ready\r\n"
        "m-warmup-start-2\r\nm-warmup-done\r\nm-infer-start-3\r\n"
        f"m-lap-us-2000\r\nm-lap-us-5000\r\nm-infer-done\r\n{results}m-ready\r\n"
        f"{results}m-ready\r\nm-laps-[2000,5000]\r\nm-ready\r\n"
    )


def test_bytes_beyond_those_announced_are_dropped(program: Path) -> None:
    said = answer(program, b"db load 2%db 010203%db print%db 04%")
    assert said.count("m-load-done") == 1
    assert "m-buffer-01-02\r\n" in said


def test_energy_firmware_says_so_and_prints_no_laps(program: Path) -> None:
    said = answer(program, b"timestamp%", "energy")
    assert said == "m-timestamp-mode-energy\r\nm-init-done\r\nm-ready\r\nm-ready\r\n"


def test_garbage_is_survived(program: Path) -> None:
    noise = bytes(range(256)) * 3
    said = answer(program, noise + b"%name%")
    assert said.endswith("m-name-dut-[host]\r\nm-ready\r\n")
