"""Post-training quantization: a float graph and samples in, an exact integer graph and its report out.

The package itself can be called, so that ``tinydeploy.quantize(model, data)`` reads like the command line.
Importing it is cheap: the writer of ONNX files comes with its first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.quantize.calibrate import Tell, silent
from tinydeploy.quantize.html import to_html
from tinydeploy.quantize.interface import Normalisation
from tinydeploy.quantize.options import Budget, Options
from tinydeploy.quantize.quantizer import Quantized, quantize_graph
from tinydeploy.quantize.ranges import Method
from tinydeploy.quantize.report import Report
from tinydeploy.quantize.samples import Samples
from tinydeploy.quantize.sources import open_any

if TYPE_CHECKING:
    from tinydeploy.quantize.onnx_writer import to_onnx, write_onnx

_OF_WRITER = ("to_onnx", "write_onnx")


def __getattr__(name: str) -> object:
    if name not in _OF_WRITER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.onnx_writer"), name)


def quantize(
    model: Graph | str | Path, data: object, options: Options | None = None, tell: Tell = silent
) -> Quantized:
    """Quantize a float model, a graph or a file, on calibration samples.

    ``data`` is what ``--data`` takes, an array [N, ...], one array per input, a mapping by input name, or a
    callable that yields samples. Raises TinyDeployError where model, data and options do not fit together.
    """
    chosen = options or Options()
    graph = model if isinstance(model, Graph) else load(model)
    normalisation = chosen.normalisation
    raw = None if normalisation is None else normalisation.raw
    return quantize_graph(graph, lambda ports: open_any(data, ports, raw), chosen, tell)


class _Callable(ModuleType):
    """A package that is also its main function."""

    def __call__(
        self, model: Graph | str | Path, data: object, options: Options | None = None, tell: Tell = silent
    ) -> Quantized:
        return quantize(model, data, options, tell)


sys.modules[__name__].__class__ = _Callable

__all__ = [
    "Budget",
    "Method",
    "Normalisation",
    "Options",
    "Quantized",
    "Report",
    "Samples",
    "quantize",
    "quantize_graph",
    "to_html",
    "to_onnx",
    "write_onnx",
]
