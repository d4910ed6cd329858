"""Which compiler is used, and what the user is told where none is."""

from __future__ import annotations

import pytest

from tinydeploy.boards import CPU_KEYS
from tinydeploy.errors import ToolError
from tinydeploy.toolchain import CPUS, HOST, cpu_spec, select


def hide(monkeypatch: pytest.MonkeyPatch, *, gcc: bool, zig: bool) -> None:
    if gcc:
        monkeypatch.setenv("PATH", "/nowhere")
    if zig:
        monkeypatch.setattr("tinydeploy.toolchain.zig.importlib.util.find_spec", lambda name: None)


def test_gcc_comes_first() -> None:
    assert select(None, HOST).name == "gcc"


def test_zig_where_there_is_no_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, gcc=True, zig=False)
    toolchain = select(None, cpu_spec("cortex-m7"))
    assert (toolchain.name, toolchain.version) == ("zig", "0.17.1")


@pytest.mark.parametrize(
    ("name", "cpu", "advice"),
    [
        (None, "host", 'pip install "tinydeploy[zig]" or apt-get install gcc'),
        (None, "cortex-m4", 'pip install "tinydeploy[zig]" or apt-get install gcc-arm-none-eabi'),
        ("gcc", "rv32imc", "apt-get install gcc-riscv64-unknown-elf"),
        ("zig", "cortex-m0", 'pip install "tinydeploy[zig]"'),
    ],
)
def test_a_missing_compiler_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str | None, cpu: str, advice: str
) -> None:
    hide(monkeypatch, gcc=True, zig=True)
    with pytest.raises(ToolError) as caught:
        select(name, cpu_spec(cpu))
    assert str(caught.value) == f"no {name or 'C compiler'} for {cpu} is installed. Install it: {advice}"


def test_an_unknown_toolchain_lists_the_known_ones() -> None:
    with pytest.raises(ToolError, match=r"toolchain 'tcc' is not supported\. Supported: gcc, zig"):
        select("tcc", HOST)


def test_an_unknown_cpu_lists_the_known_ones() -> None:
    with pytest.raises(
        ToolError, match=r"CPU 'z80' is not supported\. Supported: host, cortex-m0, .*rv32imc"
    ):
        cpu_spec("z80")


def test_board_files_and_compilers_know_the_same_cpus() -> None:
    assert tuple(CPUS) == CPU_KEYS


def test_sanitizers_run_on_the_host_only() -> None:
    with pytest.raises(
        ToolError, match=r"sanitizers run on the host only, not on cortex-m7\. Use the board host"
    ):
        select("gcc", cpu_spec("cortex-m7"), sanitize=True)
    with pytest.raises(
        ToolError, match=r"zig ships no address sanitizer\. Use gcc for sanitized host builds"
    ):
        select("zig", HOST, sanitize=True)
