"""From the bytes of a file to a graph, or to everything that keeps it from being one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped,unused-ignore]
from onnx import ModelProto, defs

from tinydeploy.errors import Gap, GraphError, ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends.adapters import merge_adapter
from tinydeploy.frontends.base import AS_IS, ImportOptions, Layout, Survey
from tinydeploy.frontends.onnx.builder import Builder, Ref
from tinydeploy.frontends.onnx.custom import rules_of
from tinydeploy.frontends.onnx.importer import FIRST_OPSET, REPAIR, Importer, key_of
from tinydeploy.frontends.onnx.interface import Dimensions, type_gap
from tinydeploy.frontends.onnx.names import all_text
from tinydeploy.frontends.onnx.rules import RULES
from tinydeploy.frontends.onnx.scope import Constant, Scope, Unknown
from tinydeploy.frontends.onnx.tensors import array_of
from tinydeploy.ir import Graph, TensorType
from tinydeploy.ops import check
from tinydeploy.ops.transpose import Transpose

FORMAT = "onnx"

_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def load_bytes(
    data: bytes,
    name: str,
    where: str = "",
    options: ImportOptions = AS_IS,
    folder: Path | None = None,
) -> Graph:
    """The graph of a file's content; ``name`` becomes the graph's, ``where`` names the file in messages.

    External data is read from ``folder`` and refused without one. Raises ModelError where the content is
    damaged or contradicts itself, TinyDeployError where the options do not fit it or leave a dimension open,
    and UnsupportedError with every gap of the model.
    """
    found = survey_bytes(data, name, where, options, folder)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=where or name)
    return found.graph


def survey_bytes(
    data: bytes,
    name: str,
    where: str = "",
    options: ImportOptions = AS_IS,
    folder: Path | None = None,
) -> Survey:
    """What the content holds and all that is not supported of it; the graph where nothing is missing.

    Raises as ``load_bytes``, without UnsupportedError.
    """
    where = where or name
    model = _parsed(data, where)
    counts = Counter(key_of(node) for node in model.graph.node)
    operators = tuple(sorted(counts.items()))
    gap = _version_gap(model)
    if gap is not None:
        return Survey(FORMAT, name, operators, (gap,), None)
    if options.adapter is not None:
        merge_adapter(model, options.adapter, folder)
    reader = _Reader(model, where, options, folder)
    gaps = reader.gaps()
    graph = None if gaps else reader.graph(name)
    return Survey(FORMAT, name, operators, gaps, graph)


def _parsed(data: bytes, where: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError, ValueError) as error:
        raise ModelError("the protocol buffer is damaged", where=where, fix=REPAIR) from error
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ModelError("the file holds no graph", where=where, fix=REPAIR)
    if not all_text(model):
        raise ModelError("a name in it is not UTF-8", where=where, fix=REPAIR)
    return model


def _version_gap(model: ModelProto) -> Gap | None:
    newest = defs.onnx_opset_version()
    for item in model.opset_import:
        if item.domain in ("", "ai.onnx") and item.version > newest:
            return Gap(
                f"opset {item.version}",
                "OPSET",
                f"opsets {FIRST_OPSET} to {newest} are supported",
                "update the onnx package, or export for an older opset",
            )
    return None


class _Reader:
    """One model and what the user asked of it."""

    def __init__(self, model: ModelProto, where: str, options: ImportOptions, folder: Path | None) -> None:
        self._model = model
        self._where = where
        self._options = options
        self._builder = Builder()
        graph = model.graph
        declared = {info.name: info.type for info in (*graph.value_info, *graph.output)}
        functions = {(item.domain, item.name, item.overload): item for item in model.functions}
        self._importer = Importer(
            self._builder,
            functions,
            declared,
            where,
            lambda proto: array_of(proto, folder),
            {**RULES, **rules_of(options.ops)},
        )
        opsets = {("" if i.domain == "ai.onnx" else i.domain): i.version for i in model.opset_import}
        self._scope = Scope(opsets)
        self._outputs: list[Ref] = []
        self._states: list[tuple[Ref, Ref]] = []
        self._variables: dict[str, Ref] = {}

    def gaps(self) -> tuple[Gap, ...]:
        """Imports everything; the result is all that is not supported."""
        graph = self._model.graph
        if not graph.output:
            raise self._fault("the model has no outputs")
        names = [info.name for info in graph.output]
        if len(set(names)) != len(names):
            raise self._fault("two outputs have one name")
        self._importer.initializers(graph, self._scope)
        self._inputs()
        self._importer.nodes(graph.node, self._scope)
        pairs = {after: before for before, after in self._options.states}
        for name in names:
            ref = self._output(name)
            if ref is None:
                continue
            if name in pairs:
                self._pair(pairs[name], name, ref)
            else:
                self._outputs.append(self._turned(name, ref))
        return tuple(dict.fromkeys(self._importer.gaps))

    def graph(self, name: str) -> Graph:
        """The graph of a model without gaps, verified."""
        if not self._outputs:
            raise self._fault("no output is left; every one is the next value of a state")
        graph = self._builder.freeze(name, tuple(self._outputs), tuple(self._states))
        try:
            check.verify(graph)
        except GraphError as error:
            raise ModelError(error.what, where=f"{self._where}: {error.where}", fix=REPAIR) from error
        return graph

    # Inputs

    def _inputs(self) -> None:
        infos = [info for info in self._model.graph.input if info.name not in self._scope.names]
        self._check_names([info.name for info in infos])
        values = dict(self._options.values)
        befores = {before for before, _ in self._options.states}
        good = []
        for info in infos:
            if info.name in self._scope.names:
                raise self._fault(f"{info.name!r} is an input twice")
            if (gap := type_gap(info)) is not None:
                self._importer.gaps.append(gap)
                self._scope.names[info.name] = Unknown()
            else:
                self._scope.names[info.name] = Unknown()
                good.append(info)
        dimensions = Dimensions(good, self._options.dims, self._where)
        types = [(info.name, dimensions.type_of(info)) for info in good]
        dimensions.check()
        for name, type_ in types:
            if type_ is None:
                continue
            if name in values:
                array = np.full(type_.shape, values[name]).astype(type_.dtype.numpy)
                self._scope.names[name] = Constant(name, array)
            elif name in befores:
                self._variables[name] = self._scope.names[name] = self._builder.input(name, type_)
            else:
                self._scope.names[name] = self._input(name, type_)

    def _input(self, name: str, type_: TensorType) -> Ref:
        if self._options.layout is not Layout.NHWC or len(type_.shape) != 4:
            return self._builder.input(name, type_)
        turned = TensorType(type_.dtype, tuple(type_.shape[axis] for axis in _TO_NHWC))
        source = self._builder.input(name, turned)
        (ref,) = self._builder.node(
            f"{name}/nchw", Transpose(_TO_NCHW), (source,), ((f"{name}/nchw", type_),)
        )
        return ref

    def _check_names(self, inputs: list[str]) -> None:
        """Options that name no input or output of the model are mistakes."""
        outputs = [info.name for info in self._model.graph.output]
        options = self._options
        named = [(before, inputs, "input", "--state") for before, _ in options.states]
        named += [(after, outputs, "output", "--state") for _, after in options.states]
        named += [(name, inputs, "input", "--value") for name, _ in options.values]
        for name, allowed, what, option in named:
            if name not in allowed:
                raise TinyDeployError(
                    f"{option} names {name!r}, which is no {what} of the model",
                    where=self._where,
                    fix=f"Its {what}s: {', '.join(allowed)}",
                )
        for pair in zip(*options.states, strict=True) if options.states else ():
            if len(set(pair)) != len(pair):
                raise TinyDeployError("--state names an input or output twice", where=self._where)

    # Outputs

    def _output(self, name: str) -> Ref | None:
        value = self._importer.find(self._scope, name, f"output {name!r}")
        if isinstance(value, Ref):
            return self._builder.ref(value.id)
        if isinstance(value, Constant):
            if value.ref is None:
                value.ref = self._importer.literal(value)
            return value.ref
        return None

    def _pair(self, before: str, after: str, ref: Ref) -> None:
        variable = self._variables.get(before)
        if variable is None:
            return
        if variable.type != ref.type:
            raise TinyDeployError(
                f"--state {before}={after} pairs {list(variable.shape)} of {variable.dtype.value} with "
                f"{list(ref.shape)} of {ref.dtype.value}",
                where=self._where,
                fix="Both must be of one type",
            )
        self._states.append((variable, ref))

    def _turned(self, name: str, ref: Ref) -> Ref:
        if self._options.layout is not Layout.NHWC or ref.rank != 4:
            return ref
        type_ = TensorType(ref.dtype, tuple(ref.shape[axis] for axis in _TO_NHWC))
        (turned,) = self._builder.node(f"{name}/nhwc", Transpose(_TO_NHWC), (ref,), ((name, type_),))
        return turned

    def _fault(self, what: str) -> ModelError:
        return ModelError(what, where=self._where, fix=REPAIR)
