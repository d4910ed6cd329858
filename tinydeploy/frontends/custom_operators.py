"""A user's file of operators (docs/custom_operators.md)."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path

from tinydeploy.errors import TinyDeployError
from tinydeploy.ops.custom import Definition

NAME = "OPERATORS"


def load_operators(path: Path) -> tuple[Definition, ...]:
    """The definitions that a Python file gives under the name OPERATORS; runs the file.

    Raises TinyDeployError with file and line where it cannot be run or gives none.
    """
    where = str(path)
    if not path.is_file():
        raise TinyDeployError("no such file", where=where, fix="Check the path")
    module_name = f"_tinydeploy_operators_{hashlib.sha256(where.encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise TinyDeployError("is no Python file", where=where, fix="Name it with the ending .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses of the file look for it there
    try:
        spec.loader.exec_module(module)
    except TinyDeployError as error:
        raise TinyDeployError(error.what, where=f"{where}: {error.where}", fix=error.fix) from error
    except Exception as error:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == where
        ]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else None)
        raise TinyDeployError(
            f"{type(error).__name__}: {error}",
            where=f"{where}:{line}" if line else where,
            fix="Repair the file",
        ) from error
    finally:
        del sys.modules[module_name]
    found = getattr(module, NAME, None)
    if not (isinstance(found, tuple) and found and all(isinstance(item, Definition) for item in found)):
        raise TinyDeployError(
            f"{NAME} is {type(found).__name__}; a tuple of Definition is needed",
            where=where,
            fix=f"Write {NAME} = (Definition(...),)",
        )
    return found
