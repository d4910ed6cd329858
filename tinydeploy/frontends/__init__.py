"""From a model file of any supported format to a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.errors import ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import tflite
from tinydeploy.frontends.base import Survey
from tinydeploy.frontends.tflite.validate import describe
from tinydeploy.ir import Graph

MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Format:
    """One format of model files: its name, how its content is recognised, and its reader."""

    name: str
    matches: Callable[[bytes], bool]
    survey: Callable[[bytes, str, str], Survey]


# ONNX and PyTorch exports get their lines here.
FORMATS = (Format("TensorFlow Lite (.tflite)", tflite.is_tflite, tflite.survey_bytes),)


def load(path: Path | str) -> Graph:
    """The graph of a model file, whatever its format; it is complete, supported and verified.

    Raises TinyDeployError where the file cannot be read, ModelError where it is damaged or of an unknown
    format, and UnsupportedError with every gap of the model at once.
    """
    found = survey(path)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=str(path))
    return found.graph


def survey(path: Path | str) -> Survey:
    """Operators and gaps of a model file, and its graph where there is no gap. Errors as ``load``, without
    UnsupportedError."""
    path = Path(path)
    data = _content(path)
    for format_ in FORMATS:
        if format_.matches(data):
            return format_.survey(data, path.stem, str(path))
    supported = ", ".join(format_.name for format_ in FORMATS)
    raise ModelError(
        f"not a model file that is supported: {describe(data)}",
        where=str(path),
        fix=f"Supported: {supported}",
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


__all__ = ["FORMATS", "Format", "Survey", "load", "survey"]
