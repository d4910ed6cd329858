"""ONNX: the container, constants folded, functions opened, and one import rule per operator.

The format's own package takes long to import, so the reader comes with its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tinydeploy.frontends.onnx.detect import is_onnx

if TYPE_CHECKING:
    from tinydeploy.frontends.onnx.reader import load_bytes, survey_bytes

__all__ = ["is_onnx", "load_bytes", "survey_bytes"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.reader"), name)
