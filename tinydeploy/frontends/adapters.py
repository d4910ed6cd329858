"""Low-rank adapters (LoRA) in PEFT's layout, merged into the weights of an ONNX model before its import.

An adapter holds for a module X of the network ``base_model.model.X.lora_A.weight`` [r, in] and
``lora_B.weight`` [out, r], for a convolution [r, in, h, w] and [out, r, 1, 1]; the module's weights grow by
``B A * alpha / r``. X is found by the names that exporters keep: of the weight (``X.weight``), of the node
(``/a/b/MatMul`` is a.b), or of the module that the exporter noted at the node.
"""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from tinydeploy.errors import ModelError, TinyDeployError
from tinydeploy.frontends.onnx.tensors import TensorError, array_of
from tinydeploy.frontends.safetensors import read_safetensors
from tinydeploy.ir import Array

CONFIG = "adapter_config.json"

_KEY = re.compile(r"(?:base_model\.model\.)?(?P<module>.+)\.lora_(?P<side>[AB])(?:\.default)?\.weight")
_SCOPES = "pkg.torch.onnx.name_scopes"
_WEIGHT_AT = {"Conv": 1, "Gemm": 1, "MatMul": 1, "Transpose": 0}


@dataclass(frozen=True, slots=True)
class _Place:
    """A weight and how the node that reads it takes it: [out, in], or turned; times ``factor``."""

    initializer: str
    turned: bool
    factor: float


def merge_adapter(model: ModelProto, adapter: Path, folder: Path | None) -> None:
    """Add an adapter's products to the weights of ``model``, in place.

    External data of the model is read from ``folder``. Raises TinyDeployError where a key of the adapter
    matches no weight, with all such keys, and where shapes do not fit.
    """
    tensors, metadata = read_safetensors(adapter)
    config = _config(adapter, metadata)
    pairs: dict[str, dict[str, Array]] = {}
    unmatched: list[str] = []
    for key, array in tensors.items():
        found = _KEY.fullmatch(key)
        if found is None:
            unmatched.append(key)
        else:
            pairs.setdefault(found["module"], {})[found["side"]] = array
    places = _places(model)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    merged: list[tuple[str, _Place]] = []
    for module, sides in pairs.items():
        place = _place_of(places, module)
        if place is None or sides.keys() != {"A", "B"}:
            unmatched += [key for key in tensors if (m := _KEY.fullmatch(key)) and m["module"] == module]
        else:
            merged.append((module, place))
    if unmatched:
        keys = "1 key matches" if len(unmatched) == 1 else f"{len(unmatched)} keys match"
        raise TinyDeployError(
            f"{keys} no weight of the model: {', '.join(sorted(unmatched))}",
            where=str(adapter),
            fix="Export the model that it was trained on; weights of MatMul, Gemm and Conv are adapted",
        )
    if not merged:
        raise TinyDeployError("holds no adapter", where=str(adapter), fix="Give the file that PEFT saved")
    for module, place in merged:
        scale = _scale(config, module, len(pairs[module]["A"]), adapter)
        try:
            weight = array_of(weights[place.initializer], folder)
        except TensorError as error:
            raise ModelError(str(error), where=f"initializer {place.initializer!r}") from error
        grown = _grown(weight, pairs[module], place, scale, module, adapter)
        weights[place.initializer].CopyFrom(numpy_helper.from_array(grown, place.initializer))


def _grown(
    weight: Array, sides: dict[str, Array], place: _Place, scale: float, module: str, adapter: Path
) -> Array:
    a, b = sides["A"], sides["B"]
    fits = a.ndim == b.ndim and a.ndim in (2, 4) and b.shape[1:] == (len(a), *(1,) * (a.ndim - 2))
    product = b.reshape(len(b), -1).astype(np.float64) @ a.reshape(len(a), -1) if fits else np.zeros(())
    product = product.reshape(len(b), *a.shape[1:]) if fits else product
    product = product.T if place.turned else product
    if weight.dtype.kind != "f" or product.shape != weight.shape:
        raise TinyDeployError(
            f"{module} has A {list(a.shape)} and B {list(b.shape)}, which do not fit the weight "
            f"{place.initializer!r}: {weight.dtype}{list(weight.shape)}",
            where=str(adapter),
            fix="Export the float model that the adapter was trained on",
        )
    return (weight.astype(np.float64) + product * (scale / place.factor)).astype(weight.dtype)


def _config(adapter: Path, metadata: dict[str, str]) -> dict[str, Any]:
    """What PEFT saved beside the adapter; else the metadata of the file itself."""
    path = adapter.with_name(CONFIG)
    if not path.is_file():
        return dict(metadata)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TinyDeployError(
            f"cannot be read: {error}", where=str(path), fix="Save the adapter again"
        ) from None
    if not isinstance(found, dict):
        raise TinyDeployError("is no JSON object", where=str(path), fix="Save the adapter again")
    if found.get("peft_type", "LORA") != "LORA" or found.get("use_dora"):
        kind = "DORA" if found.get("use_dora") else found["peft_type"]
        raise TinyDeployError(
            f"the adapter is of the type {kind}; LORA is allowed",
            where=str(path),
            fix="Merge it in PyTorch with merge_and_unload() and export the result",
        )
    return found


def _scale(config: dict[str, Any], module: str, rank: int, adapter: Path) -> float:
    """alpha / r, or alpha / sqrt(r) where the adapter is rank-stabilised."""
    alpha = _by_pattern(config.get("alpha_pattern"), module, config.get("lora_alpha", config.get("alpha")))
    try:
        number = float(alpha)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or rank == 0:
        raise TinyDeployError(
            f"alpha of {module} is {alpha!r}; a number is needed",
            where=str(adapter),
            fix=f"Put the adapter's {CONFIG} beside it",
        )
    return number / (math.sqrt(rank) if config.get("use_rslora") else rank)


def _by_pattern(patterns: object, module: str, default: object) -> Any:
    if isinstance(patterns, dict):
        for pattern, value in patterns.items():
            if module == pattern or module.endswith(f".{pattern}"):
                return value
    return default


def _places(model: ModelProto) -> dict[str, _Place]:
    """The weights of the model by the names that their modules may have. A weight that other operators read
    as well belongs to no module."""
    floats = {tensor.name for tensor in model.graph.initializer if tensor.data_type in _FLOATS}
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in dict.fromkeys(node.input):
            if name in floats:
                readers.setdefault(name, []).append(node)
    places: dict[str, _Place] = {}
    for name, nodes in readers.items():
        found = {_read_by(node, name) for node in nodes}
        place = found.pop()
        if found or place is None:
            continue
        for module in (
            name.removesuffix(".weight"),
            *(module for node in nodes for module in _modules(node)),
        ):
            if module:
                places.setdefault(module, place)
    return places


_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


def _read_by(node: NodeProto, name: str) -> _Place | None:
    at = _WEIGHT_AT.get(node.op_type)
    if at is None or node.domain not in ("", "ai.onnx") or list(node.input).index(name) != at:
        return None
    numbers = {attribute.name: attribute for attribute in node.attribute}
    turned = node.op_type == "MatMul" or (
        node.op_type == "Gemm" and not ("transB" in numbers and numbers["transB"].i)
    )
    factor = numbers["alpha"].f if node.op_type == "Gemm" and "alpha" in numbers else 1.0
    return _Place(name, turned, factor) if factor else None


def _modules(node: NodeProto) -> list[str]:
    """Paths of modules that the exporter wrote to a node."""
    found = []
    if node.name.startswith("/"):
        found.append(".".join(node.name.strip("/").split("/")[:-1]))
    for entry in node.metadata_props:
        if entry.key == _SCOPES:
            try:
                scopes = ast.literal_eval(entry.value)
            except (SyntaxError, ValueError):
                continue
            if isinstance(scopes, list):
                found += [scope for scope in scopes[-2:-1] if isinstance(scope, str)]
    return found


def _place_of(places: dict[str, _Place], module: str) -> _Place | None:
    """The weight of a module; where the network was exported inside of another, of the only one so named."""
    if module in places:
        return places[module]
    inside = {place for name, place in places.items() if name.endswith(f".{module}")}
    return inside.pop() if len(inside) == 1 else None
