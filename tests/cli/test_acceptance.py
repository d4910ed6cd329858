"""The six int8 reference models of MLPerf Tiny through the command line: figures and bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.shared_data import MLPERF_MODELS, kws_inputs, kws_labels, kws_names, mlperf_model, needs_shared

pytestmark = needs_shared

WHOLE_TENSORS = {"kws": 16000, "vww": 55296, "ic": 49152, "ad": 768, "sww": 6656, "ic02": 122880}
MACS = {"kws": 2656768, "vww": 7489664, "ic": 12501632, "ad": 264192, "sww": 826368, "ic02": 76473920}


@pytest.mark.parametrize("bench", MLPERF_MODELS)
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_plans_meet_their_bounds(bench: str, core: str, cli: Cli, tmp_path: Path) -> None:
    found = cli("compile", mlperf_model(bench), "-o", tmp_path / "lib", "--core", core, "--json").json
    assert found["tensor_bytes"] == found["graph_bound_bytes"] == WHOLE_TENSORS[bench]
    assert found["arena_bytes"] == found["lower_bound_bytes"]
    assert found["optimal"] is True
    assert found["scratch_bytes"] <= found["max_step_scratch_bytes"] <= 2048
    assert found["macs"] == MACS[bench]


@pytest.mark.parametrize("bench", MLPERF_MODELS)
def test_every_instance_is_bit_exact(bench: str, cli: Cli) -> None:
    found = cli("verify", mlperf_model(bench), "--board", "host", "--samples", 32, "--json").json
    assert found["bit_exact"] is True
    assert found["mismatches"] == 0
    assert found["instances_compared"] == 32 * found["instances"]


@pytest.mark.parametrize("bench", ["kws", "vww"])
def test_the_kernels_of_cortex_m4_are_bit_exact_on_the_host(bench: str, cli: Cli) -> None:
    found = cli("verify", mlperf_model(bench), "--core", "cortex-m4", "--samples", 8, "--json").json
    assert found["bit_exact"] is True


def test_generated_c_gets_901_of_1000_keywords_right(cli: Cli, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=kws_inputs(1000))
    out = tmp_path / "out.npz"
    assert cli("run", mlperf_model("kws"), "--input", tmp_path / "in.npz", "-o", out).code == 0
    labels = kws_labels()
    with np.load(out) as arrays:
        answers = arrays["out0"].reshape(1000, 12).argmax(axis=1)
    assert sum(labels[name] == answer for name, answer in zip(kws_names(), answers, strict=True)) == 901
