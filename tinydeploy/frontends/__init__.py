"""From a model file of any supported format to a graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.errors import ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import onnx, tflite, torch
from tinydeploy.frontends.base import AS_IS, ImportOptions, Layout, Survey
from tinydeploy.frontends.tflite.validate import describe
from tinydeploy.ir import Graph

MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Source:
    """The content of a model file and what is known of its place.

    ``name`` becomes the graph's, ``where`` names the file in messages, other files that belong to it lie in
    ``folder``.
    """

    data: bytes
    name: str
    where: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Format:
    """One format of model files: its name, how its content is recognised, its reader, its options."""

    name: str
    matches: Callable[[bytes], bool]
    survey: Callable[[Source, ImportOptions], Survey]
    obeys: frozenset[str] = frozenset()


def _tflite(source: Source, options: ImportOptions) -> Survey:
    return tflite.survey_bytes(source.data, source.name, source.where, options)


def _onnx(source: Source, options: ImportOptions) -> Survey:
    return onnx.survey_bytes(source.data, source.name, source.where, options, source.folder)


def _torch(source: Source, options: ImportOptions) -> Survey:
    return torch.survey_bytes(source.data, source.name, source.where, options)


_ONNX_OPTIONS = frozenset(("adapter", "dims", "layout", "ops", "states", "values"))

FORMATS = (
    Format("TensorFlow Lite (.tflite)", tflite.is_tflite, _tflite, frozenset(("signature",))),
    Format("ONNX (.onnx)", onnx.is_onnx, _onnx, _ONNX_OPTIONS),
    Format("PyTorch (.pt2)", torch.is_pt2, _torch, _ONNX_OPTIONS),
)


def load(path: Path | str, options: ImportOptions = AS_IS, *, dims: Mapping[str, int] | None = None) -> Graph:
    """The graph of a model file, whatever its format; it is complete, supported and verified.

    ``dims`` adds sizes of dynamic dimensions to those of ``options``. Raises TinyDeployError where the file
    cannot be read or an option does not fit it, ModelError where it is damaged or of an unknown format, and
    UnsupportedError with every gap of the model at once.
    """
    found = survey(path, options, dims=dims)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=str(path))
    return found.graph


def survey(
    path: Path | str, options: ImportOptions = AS_IS, *, dims: Mapping[str, int] | None = None
) -> Survey:
    """Operators and gaps of a model file, and its graph where there is no gap. Errors as ``load``, without
    UnsupportedError."""
    path = Path(path)
    if dims is not None:
        options = dataclasses.replace(options, dims=(*options.dims, *dims.items()))
    data = _content(path)
    for format_ in FORMATS:
        if format_.matches(data):
            _check_heeded(format_, options, str(path))
            return format_.survey(Source(data, path.stem, str(path), path.parent), options)
    supported = ", ".join(format_.name for format_ in FORMATS)
    raise ModelError(
        f"not a model file that is supported: {describe(data)}",
        where=str(path),
        fix=f"Supported: {supported}",
    )


def _check_heeded(format_: Format, options: ImportOptions, where: str) -> None:
    for field in dataclasses.fields(options):
        if field.name not in format_.obeys and getattr(options, field.name) != getattr(AS_IS, field.name):
            raise TinyDeployError(
                f"files of the format {format_.name} have no {field.name} to set",
                where=where,
                fix="Leave the option out",
            )


def _content(path: Path) -> bytes:
    where = str(path)
    try:
        if path.is_dir():
            raise TinyDeployError("is a directory, not a model file", where=where)
        if not path.exists():
            raise TinyDeployError("no such file", where=where, fix="Check the path")
        if not path.is_file():
            raise TinyDeployError("is not a regular file", where=where)
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise TinyDeployError(f"has {size} bytes; {MAX_FILE_BYTES} are allowed", where=where)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TinyDeployError(f"cannot be read: {reason}", where=where) from error


__all__ = ["AS_IS", "FORMATS", "Format", "ImportOptions", "Layout", "Source", "Survey", "load", "survey"]
