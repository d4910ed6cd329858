"""Where calibration samples come from: what ``--data`` takes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, DType
from tinydeploy.quantize import npz
from tinydeploy.quantize.samples import (
    Port,
    Sample,
    Samples,
    as_samples,
    checked,
    from_arrays,
    from_iterables,
    samples_shape,
)

ALLOWED = "an .npz or .npy file, FILE.npz:ARRAY, a folder of .npz, .npy or .bin files, or module:function"

_SUFFIXES = (".npz", ".npy", ".bin")


def open_data(data: str | Path, ports: Sequence[Port], raw_type: DType | None = None) -> Samples:
    """Samples from what a user names on the command line; see ``ALLOWED``.

    ``raw_type`` is the element type of .bin files, by default that of the input. Raises TinyDeployError
    where nothing fits the model's inputs.
    """
    path, _, name = str(data).partition(":")
    whole = Path(data)
    if whole.is_dir():
        return _folder(whole, ports, raw_type)
    if whole.is_file():
        return _file(whole, ports, "")
    if name and Path(path).is_file():
        return _file(Path(path), ports, name)
    if name and path.replace(".", "").isidentifier():
        return from_iterables(_function(path, name), ports, str(data))
    raise TinyDeployError("no such file or folder", where=str(data), fix=f"Allowed: {ALLOWED}")


def _file(path: Path, ports: Sequence[Port], name: str) -> Samples:
    if path.suffix == ".npy" and not name:
        return from_arrays([npz.mapped(path)], ports, str(path))
    if path.suffix == ".npz":
        return _archive(path, ports, name)
    raise TinyDeployError(
        f"samples cannot be read from {path.suffix or 'a file without suffix'}",
        where=str(path),
        fix=f"Allowed: {ALLOWED}",
    )


def _archive(path: Path, ports: Sequence[Port], name: str) -> Samples:
    chosen = _chosen(npz.members(path), ports, path, name)
    shapes = [
        samples_shape(member.shape, port, f"{path}: {member.name!r}")
        for member, port in zip(chosen, ports, strict=True)
    ]
    counts = {member.name: shape[0] for member, shape in zip(chosen, shapes, strict=True)}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{key!r} has {count}" for key, count in counts.items())
        raise TinyDeployError(
            f"the inputs have different numbers of samples: {text}",
            where=str(path),
            fix="Give as many of each",
        )

    def opened() -> Iterator[Sample]:
        streams = [m.rows(s[1:], s[0]) for m, s in zip(chosen, shapes, strict=True)]
        for index, rows in enumerate(zip(*streams, strict=True)):
            pairs = zip(rows, ports, strict=True)
            yield tuple(checked(row, port, str(path), index) for row, port in pairs)

    return Samples(str(path), opened, shapes[0][0])


def _chosen(found: Sequence[npz.Member], ports: Sequence[Port], path: Path, name: str) -> list[npz.Member]:
    """The member for each input: by the input's name, ``in0`` ..., the name given, or the only one."""
    names = {member.name: member for member in found}
    listed = ", ".join(f"{m.name!r} {m.dtype}{list(m.shape)}" for m in found) or "nothing"
    if name:
        if len(ports) != 1:
            raise TinyDeployError(
                f"one array is named, the model has {len(ports)} inputs",
                where=str(path),
                fix="Name the arrays in0, in1, ... and leave out the name",
            )
        if name not in names:
            raise TinyDeployError(f"has no array {name!r}; it holds {listed}", where=str(path))
        return [names[name]]
    picked = [names.get(port.name) or names.get(f"in{index}") for index, port in enumerate(ports)]
    if all(picked):
        return [member for member in picked if member is not None]
    if len(ports) == 1 and len(found) == 1:
        return list(found)
    fix = f"Name the arrays like the inputs ({', '.join(repr(p.name) for p in ports)}) or in0, in1, ..."
    if len(ports) == 1:
        fix += f", or choose one: {path}:ARRAY"
    raise TinyDeployError(f"holds {listed}", where=str(path), fix=fix)


def _folder(path: Path, ports: Sequence[Port], raw_type: DType | None) -> Samples:
    files = sorted(entry for entry in path.iterdir() if entry.is_file() and entry.suffix in _SUFFIXES)
    kinds = sorted({entry.suffix for entry in files})
    if len(kinds) != 1:
        got = f"holds {' and '.join(kinds)} files" if kinds else "holds no sample files"
        raise TinyDeployError(got, where=str(path), fix="Allowed: files of one kind, .npz, .npy or .bin")
    if kinds != [".npz"] and len(ports) != 1:
        raise TinyDeployError(
            f"{kinds[0]} files hold one input, the model has {len(ports)}",
            where=str(path),
            fix="Use .npz files with arrays named like the inputs",
        )
    parts: Callable[[Path], Iterator[Sample]]
    if kinds == [".bin"]:
        dtype = (raw_type or ports[0].dtype).numpy

        def parts(file: Path) -> Iterator[Sample]:
            yield (checked(npz.raw(file, dtype, ports[0].shape), ports[0], str(file), 0),)

    else:

        def parts(file: Path) -> Iterator[Sample]:
            yield from _file(file, ports, "")

    def opened() -> Iterator[Sample]:
        for file in files:
            yield from parts(file)

    count = len(files) if kinds == [".bin"] else None
    if kinds == [".npy"]:
        count = sum(len(as_samples(npz.mapped(file), ports[0], str(file))) for file in files)
    return Samples(str(path), opened, count)


def _function(module: str, name: str) -> Callable[[], Any]:
    """A callable of a module that Python finds, the current folder included."""
    where = f"{module}:{name}"
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise TinyDeployError(
            f"the module cannot be imported: {error}", where=where, fix=f"Allowed: {ALLOWED}"
        ) from None
    finally:
        if added:
            sys.path.remove(here)
    if not callable(found):
        raise TinyDeployError(
            f"the module has no function {name!r}", where=where, fix="Name a function that yields samples"
        )
    function: Callable[[], Any] = found
    return function


def open_any(data: object, ports: Sequence[Port], raw_type: DType | None = None) -> Samples:
    """Samples from what the Python API takes: a path or name as ``open_data``, an array, arrays per input, a
    mapping by input name, a callable that yields samples, or samples already opened."""
    if isinstance(data, Samples):
        return data
    if isinstance(data, (str, Path)):
        return open_data(data, ports, raw_type)
    if callable(data):
        return from_iterables(data, ports, getattr(data, "__name__", "the data"))
    if isinstance(data, dict):
        missing = [port.name for port in ports if port.name not in data]
        if missing:
            raise TinyDeployError(f"has no array {missing[0]!r}", where="the data")
        return from_arrays([data[port.name] for port in ports], ports)
    arrays: Sequence[Array] = data if isinstance(data, (list, tuple)) else [data]  # type: ignore[list-item]
    return from_arrays(arrays, ports)
