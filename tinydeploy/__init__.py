"""tinydeploy: from a trained network to proved, bit-exact, self-contained C on a microcontroller.

The Python API uses the words of the command line: ``load`` a model file or a PyTorch module,
``quantize`` it, ``compile_graph`` it for a target, ``write_files`` of the result. Importing the package is
cheap; each name brings its module when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tinydeploy.build import compile_graph, write_files
    from tinydeploy.frontends.api import load
    from tinydeploy.kernels.targets import target_of
    from tinydeploy.quantize import quantize

_HOME = {
    "compile_graph": "tinydeploy.build",
    "load": "tinydeploy.frontends.api",
    "quantize": "tinydeploy.quantize",
    "target_of": "tinydeploy.kernels.targets",
    "write_files": "tinydeploy.build",
}

__all__ = ["__version__", "compile_graph", "load", "quantize", "target_of", "write_files"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
