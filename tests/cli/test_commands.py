"""inspect, compile, run, verify and doctor: what they print, their JSON keys and their exit codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.tflite_builder import ModelBuilder
from tinydeploy.codegen.literals import Raw, c_array
from tinydeploy.frontends import load
from tinydeploy.ir import Array
from tinydeploy.ops.interpreter import Interpreter

COMPILE_KEYS = {
    "tensor_bytes", "scratch_bytes", "arena_bytes", "lower_bound_bytes", "optimal", "graph_bound_bytes",
    "weights_bytes", "macs", "rounding",
}  # fmt: skip


class TestInspect:
    def test_json(self, cli: Cli, small_model: Path) -> None:
        found = cli("inspect", small_model, "--json").json
        assert found["operators"]["CONV_2D"] == 2
        assert found["unsupported"] == []
        assert found["macs"] == 4 * 4 * 8 * 27 + 4 * 4 * 4 * 8 + 12
        assert found["graph_bound_bytes"] == 192 + 128
        assert found["inputs"][0]["shape"] == [1, 8, 8, 3]

    def test_text(self, cli: Cli, small_model: Path) -> None:
        shown = cli("inspect", small_model)
        assert shown.code == 0
        assert "Everything is supported." in shown.stdout
        assert "2 x CONV_2D" in shown.stdout

    def test_every_gap_at_once(self, cli: Cli, unsupported_model: Path) -> None:
        found = cli("inspect", unsupported_model, "--json")
        assert found.code == 0
        gaps = found.json["unsupported"]
        assert {gap["op"] for gap in gaps} >= {"LOGISTIC", "CONV_2D"}
        assert all(gap["node"] and gap["reason"] and gap["remedy"] for gap in gaps)
        assert "gaps:" in cli("inspect", unsupported_model).stdout


@pytest.fixture
def unsupported_model(tmp_path: Path) -> Path:
    """An operator that is not supported, twice, and a convolution with an activation that is not."""
    builder = ModelBuilder().input((1, 4, 4, 2))
    for name in ("gate_1", "gate_2"):
        source = builder.current
        builder.operator("LOGISTIC", [source], [builder.tensor((1, 4, 4, 2), name=name)])
    builder.conv2d(2, (1, 1), activation="TANH", name="conv")
    path = tmp_path / "unsupported.tflite"
    path.write_bytes(builder.build())
    return path


class TestCompile:
    def test_writes_a_library(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        out = tmp_path / "lib"
        found = cli("compile", small_model, "-o", out, "--core", "cortex-m4", "--json").json
        assert found.keys() >= COMPILE_KEYS
        assert found["tensor_bytes"] == found["graph_bound_bytes"]
        assert found["rounding"] == "tflite_double_rounding"
        assert found["optimal"] is True
        assert sorted(path.name for path in out.iterdir()) == found["files"]
        assert "startup" not in str(found["files"])
        assert "small_run" in (out / "small.h").read_text()

    def test_the_prefix_is_the_users(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        assert cli("compile", small_model, "-o", tmp_path / "lib", "--name", "net").code == 0
        assert "net_run" in (tmp_path / "lib" / "net.h").read_text()

    def test_foreign_files_stay(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib" / "mine.txt").write_text("mine")
        assert cli("compile", small_model, "-o", tmp_path / "lib").code == 0
        assert (tmp_path / "lib" / "mine.txt").read_text() == "mine"

    def test_nothing_is_written_for_an_unsupported_model(
        self, cli: Cli, unsupported_model: Path, tmp_path: Path
    ) -> None:
        failed = cli("compile", unsupported_model, "-o", tmp_path / "lib", "--json")
        assert failed.code == 1
        assert [gap["node"] for gap in failed.json["unsupported"]] == ["gate_1", "gate_2", "conv"]
        assert not (tmp_path / "lib").exists()

    def test_over_the_budget_says_who_holds_what(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        failed = cli("compile", small_model, "-o", tmp_path / "lib", "--ram", 100)
        assert failed.code == 1
        assert (
            "the arena needs 320 bytes, --ram allows 100; largest at the peak: 192 bytes tensor_0, "
            "128 bytes tensor_3. The smallest budget that works is 320" in failed.stderr
        )
        assert not (tmp_path / "lib").exists()
        assert cli("compile", small_model, "-o", tmp_path / "lib", "--ram", 320).code == 0

    @pytest.mark.parametrize("stage", ["import", "fold-constants", "remove-unused", "schedule", "plan"])
    def test_dump_after(self, stage: str, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        shown = cli("compile", small_model, "-o", tmp_path / "lib", "--dump-after", stage)
        heads = {"schedule": 'program "small" for host {', "plan": "plan 320 bytes, bound 320 {"}
        assert shown.stdout.startswith(heads.get(stage, 'graph "small" {'))
        beside = cli("compile", small_model, "-o", tmp_path / "lib", "--dump-after", stage, "--json")
        assert beside.json["model"] == "small"
        assert beside.stderr == shown.stdout

    def test_errors(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        messages = {
            ("--dump-after", "x"): "stage 'x' is not known. Stages: import, layout,",
            ("--core", "z80"): "core 'z80' is not known. Known cores: host, cortex-m0,",
            ("--core", "cortex-m4", "--board", "host"): "--board and --core are both given. Give one of them",
            ("--name", "1x"): "name '1x' cannot prefix C functions",
        }
        for options, message in messages.items():
            failed = cli("compile", small_model, "-o", tmp_path / "lib", *options)
            assert failed.code == 1, options
            assert message in failed.stderr

    def test_an_output_that_is_a_file(self, cli: Cli, small_model: Path) -> None:
        failed = cli("compile", small_model, "-o", small_model)
        assert failed.code == 1
        assert "cannot write: Not a directory. Choose another -o" in failed.stderr

    def test_usage(self, cli: Cli, small_model: Path) -> None:
        assert cli("compile", small_model).code == 2
        assert cli("nonsense").code == 2


class TestVerify:
    @pytest.mark.parametrize("toolchain", ["gcc", "zig"])
    @pytest.mark.parametrize("core", ["host", "cortex-m4"])
    def test_bit_exact(self, toolchain: str, core: str, cli: Cli, small_model: Path) -> None:
        found = cli(
            "verify", small_model, "--samples", 4, "--core", core, "--toolchain", toolchain, "--json"
        ).json
        assert found["bit_exact"] is True
        assert found["samples"] == 4
        assert found["instances_compared"] == 4 * found["instances"] == 4 * 5
        assert found["oracle"] == "reference"
        assert found["first_bad_step"] is None

    def test_a_wrong_kernel_is_named(
        self, cli: Cli, small_model: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A weight flipped on its way into the C: exit 3, and the step by name."""

        def flipped(array: Array) -> Raw:
            changed = array.copy()
            if changed.size == 32:
                changed[5] ^= 0x55
            return c_array(changed)

        monkeypatch.setattr("tinydeploy.codegen.constants.c_array", flipped)
        failed = cli("verify", small_model, "--samples", 4, "--json")
        assert failed.code == 3
        assert failed.json["bit_exact"] is False
        first = failed.json["first_bad_step"]
        assert (first["op"], first["instance"], first["schedule"]) == ("Conv2D", 1, "conv_2d/scalar")
        shown = cli("verify", small_model, "--samples", 4)
        assert shown.code == 3
        assert "bit-exact: no" in shown.stdout

    def test_a_board_that_is_not_there(self, cli: Cli, small_model: Path) -> None:
        failed = cli("verify", small_model, "--board", "nonsense")
        assert failed.code == 1
        assert "nonsense" in failed.stderr


class TestRun:
    def test_outputs_are_the_references(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        data = np.random.default_rng(1).integers(-128, 128, (3, 1, 8, 8, 3)).astype(np.int8)
        np.savez(tmp_path / "in.npz", in0=data)
        out = tmp_path / "out.npz"
        found = cli("run", small_model, "--input", tmp_path / "in.npz", "-o", out, "--json").json
        assert found["samples"] == 3
        interpreter = Interpreter(load(small_model))
        with np.load(out) as arrays:
            for got, sample in zip(arrays["out0"], data, strict=True):
                assert np.array_equal(got, interpreter.run([sample])[0])

    def test_repeat_and_real_numbers(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", tensor_0=np.full((1, 8, 8, 3), 0.25, np.float32))
        out = tmp_path / "out.npz"
        options = ("--float", "--repeat", 2)
        assert cli("run", small_model, "--input", tmp_path / "in.npz", "-o", out, *options).code == 0
        expected = Interpreter(load(small_model)).run([np.full((1, 8, 8, 3), 64 - 128, np.int8)])[0]
        with np.load(out) as arrays:
            assert sorted(arrays.files) == ["out0_step0", "out0_step1"]
            assert np.array_equal(arrays["out0_step1"], expected)

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"x": np.zeros(3)}, r"no array for input 0; the file has x. Name it in0"),
            ({"in0": np.zeros((1, 8, 8, 3))}, "array 'in0' is float64, input 0 is int8. Pass --float"),
            ({"in0": np.zeros((1, 8, 8, 3), np.int16)}, "array 'in0' is int16, input 0 is int8. Convert"),
            ({"in0": np.zeros((5, 5), np.int8)}, "has shape [5, 5], input 0 wants [1, 8, 8, 3], or [N, ...]"),
            ({"in0": np.array([{}], dtype=object)}, "cannot read the arrays: Object arrays cannot be loaded"),
        ],
    )  # fmt: skip
    def test_bad_inputs(
        self,
        arrays: dict[str, Array],
        message: str,
        cli: Cli,
        small_model: Path,
        tmp_path: Path,
    ) -> None:
        np.savez(tmp_path / "in.npz", allow_pickle=True, **arrays)
        failed = cli("run", small_model, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        assert failed.code == 1
        assert message in failed.stderr
        assert not (tmp_path / "out.npz").exists()

    def test_a_file_that_is_no_npz(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        for content in (b"", b"hello", b"PK\x03\x04broken"):
            (tmp_path / "in.npz").write_bytes(content)
            failed = cli("run", small_model, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
            assert failed.code == 1
            assert "cannot read the arrays" in failed.stderr
        failed = cli("run", small_model, "--input", tmp_path / "none.npz", "-o", tmp_path / "out.npz")
        assert "cannot read the arrays: No such file or directory" in failed.stderr

    def test_an_output_that_cannot_be_written(self, cli: Cli, small_model: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", in0=np.zeros((1, 8, 8, 3), np.int8))
        failed = cli("run", small_model, "--input", tmp_path / "in.npz", "-o", tmp_path / "no" / "out.npz")
        assert failed.code == 1
        assert "cannot write: No such file or directory" in failed.stderr


def test_doctor(cli: Cli) -> None:
    found = cli("doctor", "--json").json
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["gcc"]["found"] is True
    assert all(check["fix"] and check["needed_for"] for check in checks.values())
    shown = cli("doctor")
    assert shown.code == 0
    assert "qemu-system-arm" in shown.stdout


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").stdout.startswith("tinydeploy 0.")
    for command in ("inspect", "compile", "run", "verify", "doctor"):
        shown = cli(command, "--help")
        assert shown.code == 0
        assert "Example: tinydeploy" in " ".join(shown.stdout.split())
