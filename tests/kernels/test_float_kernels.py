"""The float schedules stay within 1e-5 of the reference, under ASan and UBSan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.float_graphs import GRAPHS
from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.kernels.targets import target_of


@pytest.mark.parametrize("name", GRAPHS)
def test_float_kernels_are_close_to_the_reference(name: str, tmp_path: Path) -> None:
    assert_bit_exact(compile_graph(GRAPHS[name], target_of("host"), name="model"), tmp_path, samples=4)
