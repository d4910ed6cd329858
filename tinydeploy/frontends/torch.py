"""PyTorch: a module with an example of its input, or a file that torch.export saved, by way of ONNX.

PyTorch's own exporter turns the program into an ONNX model, which the ONNX front end reads. Graphs that
PyTorch quantized (PT2E) arrive as QuantizeLinear and DequantizeLinear and become integer like any QDQ file.
PyTorch is imported when it is needed and not before. Reading a .pt2 file trusts it as torch.export.load does:
it may hold pickled objects.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from tinydeploy.errors import TinyDeployError, ToolError, UnsupportedError
from tinydeploy.frontends import onnx
from tinydeploy.frontends.base import AS_IS, ImportOptions, Survey
from tinydeploy.ir import Graph

FORMAT = "torch"
_ZIP = b"PK\x03\x04"
_MARK = b"/archive_format"
_DIRECTORY_BYTES = 1 << 20

_OPERATORS_OF_PT2E = ("torch.ao.quantization.fx._decomposed", "torchao.quantization.pt2e.quantize_pt2e")
"""Modules that make the operators of quantized programs known; their place changes with the version."""


def is_pt2(data: bytes) -> bool:
    """Whether content is an archive of torch.export: a zip file with an entry that says so."""
    return data.startswith(_ZIP) and _MARK in data[-_DIRECTORY_BYTES:]


def survey_bytes(data: bytes, name: str, where: str, options: ImportOptions = AS_IS) -> Survey:
    """What a .pt2 file holds, as the ONNX front end tells it. Raises ToolError where PyTorch is missing."""
    torch = _torch(where)
    with _quiet():
        for name in _OPERATORS_OF_PT2E:
            with suppress(ImportError):
                import_module(name)
        try:
            program = torch.export.load(io.BytesIO(data))
        except Exception as error:
            raise TinyDeployError(
                f"PyTorch cannot read it: {_reason(error)}",
                where=where,
                fix="Save it with torch.export.save of the same version of PyTorch",
            ) from error
    found = onnx.survey_bytes(_exported(torch, program, None, where), name, where, options)
    return Survey(FORMAT, found.name, found.operators, found.gaps, found.graph)


def load_module(module: object, example: object, options: ImportOptions = AS_IS) -> Graph:
    """The graph of a ``torch.nn.Module`` for inputs of the shapes of ``example``.

    ``example`` is a tensor, or a tuple of the arguments of ``forward``. Raises TinyDeployError where the
    module is in training mode or cannot be exported, and as ``frontends.load`` does.
    """
    name = type(module).__name__
    torch = _torch(name)
    if not isinstance(module, torch.nn.Module):
        raise TinyDeployError(
            f"a {name} cannot be loaded", fix="Give a path, or a torch.nn.Module and an example of its input"
        )
    changing = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
    if any(part.training and isinstance(part, changing) for part in module.modules()):
        raise TinyDeployError("the module is in training mode", where=name, fix="Call its eval() before")
    arguments = example if isinstance(example, tuple) else (example,)
    found = onnx.survey_bytes(_exported(torch, module, arguments, name), name, name, options)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=name)
    return found.graph


def _exported(torch: Any, program: object, arguments: tuple[object, ...] | None, where: str) -> bytes:
    """The program as an ONNX model, weights included."""
    with _quiet():
        try:
            made = torch.onnx.export(
                program, arguments or (), dynamo=True, external_data=False, verbose=False
            )
            model = made.model_proto
        except ImportError as error:
            raise _missing(where, error.name or "onnxscript") from error
        except Exception as error:
            raise TinyDeployError(
                f"PyTorch's ONNX exporter refuses it: {_reason(error)}",
                where=where,
                fix="Try torch.export.export alone, which says more; replace what it cannot trace",
            ) from error
    data: bytes = model.SerializeToString()
    return data


def _torch(where: str) -> Any:
    for name in ("torch", "onnxscript"):
        try:
            import_module(name)
        except ImportError as error:
            raise _missing(where, name) from error
    return import_module("torch")


def _missing(where: str, name: str) -> ToolError:
    return ToolError(
        f"reading PyTorch's programs needs the package {name}",
        where=where,
        fix='Install it with pip install "tinydeploy[torch]"',
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch's notes on its own inside are not for our users."""
    disabled = logging.root.manager.disable
    logging.disable(max(disabled, logging.WARNING))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _reason(error: BaseException) -> str:
    """The first line of what is behind an error, which PyTorch wraps in general remarks."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else ''}"[:300]
