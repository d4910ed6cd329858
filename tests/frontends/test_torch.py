"""PyTorch modules and exported programs; without PyTorch, what is said."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.running_onnx import assert_close, c_outputs
from tinydeploy import load
from tinydeploy.build import compile_graph
from tinydeploy.errors import TinyDeployError, ToolError
from tinydeploy.frontends.torch import is_pt2
from tinydeploy.ir import DType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter

pytestmark = pytest.mark.filterwarnings("ignore")
"""PyTorch warns of much of its own."""

WITHOUT = "PyTorch is not installed: pip install tinydeploy[torch]"


def _torch() -> Any:
    return pytest.importorskip("torch", reason=WITHOUT)


def _network(torch: Any) -> Any:
    """A convolution with batch normalisation, a GRU over its rows, a dense layer."""
    nn = torch.nn

    class Network(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)
            self.rows = nn.GRU(4, 5, batch_first=True)
            self.head = nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            seen = torch.relu(self.norm(self.conv(x))).mean(3).transpose(1, 2)
            return self.head(self.rows(seen)[1][0])

    torch.manual_seed(0)
    return Network()


def test_a_module(tmp_path: Path) -> None:
    torch = _torch()
    module, x = _network(torch).eval(), torch.randn(1, 1, 6, 5)
    graph = load(module, x)
    assert graph.name == "Network"
    expected = (module(x).detach().numpy(),)
    assert_close(expected, Interpreter(graph).run((x.numpy(),)))
    assert_close(expected, c_outputs(graph, (x.numpy(),), tmp_path))


def test_an_exported_program(tmp_path: Path) -> None:
    torch = _torch()
    module, x = _network(torch).eval(), torch.randn(1, 1, 6, 5)
    path = tmp_path / "network.pt2"
    torch.export.save(torch.export.export(module, (x,)), path)
    assert_close((module(x).detach().numpy(),), Interpreter(load(path)).run((x.numpy(),)))


def test_a_module_in_training_mode() -> None:
    torch = _torch()
    with pytest.raises(TinyDeployError, match=r"Network: the module is in training mode\. Call its eval\(\)"):
        load(_network(torch), torch.randn(1, 1, 6, 5))


def test_what_cannot_be_exported() -> None:
    torch = _torch()
    with pytest.raises(TinyDeployError, match=r"ONNX exporter refuses it: \w+: .*(shape|[Dd]im|input)"):
        load(_network(torch).eval(), torch.randn(3))


def test_a_graph_that_pytorch_quantized(tmp_path: Path) -> None:
    """PT2E, with the quantizer that ships in torchao: it arrives with its scales and becomes integer."""
    torch = _torch()
    pt2e = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e", reason="torchao is not installed")
    made = importlib.import_module("torchao.testing.pt2e._xnnpack_quantizer")
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU()).eval()
    example = (torch.randn(1, 1, 6, 6),)
    quantizer = made.XNNPACKQuantizer().set_global(made.get_symmetric_quantization_config())
    prepared = pt2e.prepare_pt2e(torch.export.export(module, example).module(), quantizer)
    prepared(*example)
    converted = pt2e.convert_pt2e(prepared)
    torch.export.save(torch.export.export(converted, example), tmp_path / "quantized.pt2")
    for graph in (load(converted, example), load(tmp_path / "quantized.pt2")):
        assert sum(node.op == "Quantize" for node in graph.nodes) == 2
        compiled = compile_graph(graph, target_of("host"))
        kinds = [(node.op, compiled.graph.type(node.outputs[0]).dtype) for node in compiled.graph.nodes]
        assert ("Conv2D", DType.INT8) in kinds
        assert {op for op, dtype in kinds if dtype is DType.FLOAT32} == {"Dequantize"}


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = importlib.import_module

    def missing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr("tinydeploy.frontends.torch.import_module", missing)
    path = tmp_path / "m.pt2"
    path.write_bytes(b"PK\x03\x04" + b"m/archive_format")
    with pytest.raises(ToolError) as error:
        load(path)
    assert "reading PyTorch's programs needs the package torch" in str(error.value)
    assert 'Install it with pip install "tinydeploy[torch]"' in str(error.value)


def test_what_load_takes(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="dict: a module needs an example of its input"):
        load({})
    with pytest.raises(TinyDeployError, match=r"m\.onnx: a file needs no example"):
        load(tmp_path / "m.onnx", np.zeros(3))
    assert not is_pt2(b"PK\x03\x04" + b"a wheel")
