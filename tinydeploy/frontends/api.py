"""``tinydeploy.load``: one word for model files and for PyTorch modules."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from tinydeploy import frontends
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import torch
from tinydeploy.frontends.base import AS_IS, ImportOptions
from tinydeploy.frontends.custom_operators import load_operators
from tinydeploy.ir import Graph


def load(
    model: object,
    example: object = None,
    *,
    options: ImportOptions = AS_IS,
    dims: Mapping[str, int] | None = None,
    ops: Path | str | None = None,
    adapter: Path | str | None = None,
) -> Graph:
    """The graph of a model: a path, or a ``torch.nn.Module`` with an example of its input.

    ``example`` is a tensor or a tuple of them. ``dims`` are sizes of dynamic dimensions, ``ops`` a Python
    file of operators of one's own, ``adapter`` a LoRA adapter as PEFT saves it; the rest of ``options`` as
    the command line has it. Raises TinyDeployError, ModelError and UnsupportedError as ``frontends.load``
    does.
    """
    if isinstance(example, ImportOptions):
        options, example = example, None
    options = dataclasses.replace(
        options,
        dims=(*options.dims, *(dims or {}).items()),
        ops=options.ops + (load_operators(Path(ops)) if ops is not None else ()),
        adapter=Path(adapter) if adapter is not None else options.adapter,
    )
    if isinstance(model, str | os.PathLike):
        if example is not None:
            raise TinyDeployError("a file needs no example", where=str(model), fix="Leave it out")
        return frontends.load(Path(model), options)
    if example is None:
        raise TinyDeployError(
            "a module needs an example of its input",
            where=type(model).__name__,
            fix="tinydeploy.load(module, example)",
        )
    return torch.load_module(model, example, options)
