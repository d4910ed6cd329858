"""From a verified file to a graph, or to everything that keeps it from being one."""

from __future__ import annotations

import dataclasses
from collections import Counter

from tinydeploy.errors import Gap, GraphError, ModelError, UnsupportedError
from tinydeploy.frontends.base import Survey
from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Model, Operation, Tensor, read
from tinydeploy.frontends.tflite.rules import RULES
from tinydeploy.frontends.tflite.validate import REPAIR
from tinydeploy.ir import Graph, Rewriter, TensorType
from tinydeploy.ops import Site, check

FORMAT = "tflite"

_RECONVERT = "convert the model with full int8 quantization"
_REMEDIES = {
    "IF": "make the model's control flow static before conversion",
    "WHILE": "make the model's control flow static before conversion",
    "CALL_ONCE": "convert the model without variables",
}
_ONE_SIGNATURE = "export one signature per file, without control flow"
_REPLACE = "replace it in the model by supported operators, or compute that part outside of the model"


def load_bytes(data: bytes, name: str, where: str = "") -> Graph:
    """The graph of a file's content; ``name`` becomes the graph's, ``where`` names the file in messages.

    Raises ModelError where the content is damaged or contradicts itself, and UnsupportedError with every gap
    of the model.
    """
    found = survey_bytes(data, name, where)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=where or name)
    return found.graph


def survey_bytes(data: bytes, name: str, where: str = "") -> Survey:
    """What the content holds and all that is not supported of it; the graph where nothing is missing.

    Raises ModelError where the content is damaged or contradicts itself.
    """
    importer = _Importer(read(data, where or name), where or name)
    gaps = importer.gaps()
    graph = None if gaps else importer.graph(name)
    counts = Counter(operation.op for operation in importer.model.operations)
    return Survey(FORMAT, name, tuple(sorted(counts.items())), gaps, graph)


class _Importer:
    def __init__(self, model: Model, where: str) -> None:
        self.model = model
        self._where = where
        self._made = {index for operation in model.operations for index in operation.outputs}
        self._named_elsewhere = self._made.union(model.inputs)
        self._imports: list[tuple[Context, Imported]] = []

    def gaps(self) -> tuple[Gap, ...]:
        """Everything that is not supported, in the order of the file."""
        found = [
            Gap(other, "SUBGRAPH", "only the first subgraph of a file is supported", _ONE_SIGNATURE)
            for other in self.model.others
        ]
        found += self._boundary_gaps()
        for operation in self.model.operations:
            found += self._import(operation)
        return tuple(found)

    def graph(self, name: str) -> Graph:
        """The graph of a model without gaps, verified."""
        if not self.model.outputs:
            raise self._fault("the model has no outputs")
        builder = _Builder(self.model, name, self._where)
        for context, imported in self._imports:
            builder.node(context, imported)
        graph = builder.freeze()
        try:
            check.verify(graph)
        except GraphError as error:
            raise ModelError(error.what, where=f"{self._where}: {error.where}", fix=REPAIR) from error
        return graph

    def _fault(self, what: str) -> ModelError:
        return ModelError(what, where=self._where, fix=REPAIR)

    def _boundary_gaps(self) -> list[Gap]:
        """Gaps of tensors that no operator makes: the model's inputs, and other sources of its outputs."""
        roles = dict.fromkeys(self.model.inputs, "INPUT")
        for index in self.model.outputs:
            if index not in self._made:
                roles.setdefault(index, "OUTPUT")
        return [
            Gap(self.model.tensors[index].name or f"{role}#{index}", role, reason, remedy)
            for index, role in roles.items()
            for reason, remedy in _tensor_gaps(self.model.tensors[index])
        ]

    def _import(self, operation: Operation) -> list[Gap]:
        context = Context(self.model, operation, self._where)
        rule = RULES.get(operation.op)
        if rule is None:
            context.refuse("the operator is not supported", _REMEDIES.get(operation.op, _REPLACE))
            return context.gaps
        outputs = set(operation.outputs)
        operands = dict.fromkeys((*operation.inputs, *operation.outputs))
        tensors = [self.model.tensors[index] for index in operands if index is not None]
        faults = [(tensor.index, fault) for tensor in tensors for fault in _tensor_gaps(tensor)]
        for index, (reason, remedy) in faults:
            # Others are named where they are made: by another operator or as an input of the model.
            if index in outputs or index not in self._named_elsewhere:
                context.refuse(reason, remedy)
        if faults:
            return context.gaps
        made = rule(context)
        if context.gaps:
            return context.gaps
        nodes = made if isinstance(made, tuple) else (made,)
        self._imports += [(context, imported) for imported in nodes]
        return [gap for imported in nodes for gap in self._limits(context, imported)]

    def _limits(self, context: Context, imported: Imported) -> list[Gap]:
        """What our operator does not support of this one."""
        tensors = [None if index is None else self.model.tensors[index] for index in imported.inputs]
        site = Site(
            context.name,
            imported.attrs,
            tuple(None if tensor is None else type_of(tensor) for tensor in tensors),
            (type_of(context.output_at(imported.output)),),
            tuple(None if tensor is None or tensor.data is None else tensor.array() for tensor in tensors),
        )
        return [dataclasses.replace(gap, op=context.operation.op) for gap in check.gaps(site)]


class _Builder:
    """Makes the graph, value by value; tensors that nobody reads are left out."""

    def __init__(self, model: Model, name: str, where: str) -> None:
        self._model = model
        self._where = where
        self._rewriter = Rewriter.empty(name)
        self._values: dict[int, int] = {}
        for index in model.inputs:
            tensor = model.tensors[index]
            if index in self._values:
                raise self._fault(tensor, "is an input twice")
            if tensor.data is not None:
                raise self._fault(tensor, "is an input and a constant")
            self._values[index] = self._rewriter.input(tensor.name, type_of(tensor))

    def node(self, context: Context, imported: Imported) -> None:
        inputs = tuple(None if index is None else self._value(index) for index in imported.inputs)
        output = context.output_at(imported.output)
        if output.index in self._values or output.data is not None:
            raise self._fault(output, f"is made by {context.name!r} and already has a value")
        (value,) = self._rewriter.node(
            context.name, imported.attrs, inputs, ((output.name, type_of(output)),)
        )
        self._values[output.index] = value

    def freeze(self) -> Graph:
        for index in self._model.outputs:
            self._rewriter.output(self._value(index))
        return self._rewriter.freeze()

    def _fault(self, tensor: Tensor, what: str) -> ModelError:
        return ModelError(f"it {what}", where=f"{self._where}: {tensor.label}", fix=REPAIR)

    def _value(self, index: int) -> int:
        if index not in self._values:
            tensor = self._model.tensors[index]
            if tensor.data is None:
                raise self._fault(tensor, "is read before anything has made it")
            self._values[index] = self._rewriter.constant(tensor.name, type_of(tensor), tensor.array())
        return self._values[index]


def type_of(tensor: Tensor) -> TensorType:
    """The type of a tensor that has no gaps."""
    if tensor.dtype is None:
        raise ValueError(f"{tensor.label} has no type of ours")
    return TensorType(tensor.dtype, tensor.shape, tensor.quant)


def _tensor_gaps(tensor: Tensor) -> list[tuple[str, str]]:
    """(reason, remedy) of all that a tensor needs and we lack."""
    found: list[tuple[str, str]] = []
    if tensor.dtype is None:
        found.append((f"{tensor.label} has the element type {tensor.type_name}", _RECONVERT))
    if tensor.dynamic:
        axes = ", ".join(map(str, tensor.dynamic))
        found.append(
            (
                f"{tensor.label} has an extent that is known at run time only (dimension {axes})",
                "export the model with a fixed input shape",
            )
        )
    if tensor.variable:
        found.append((f"{tensor.label} is a variable", "export the model without variables"))
    if tensor.sparse:
        found.append((f"{tensor.label} is sparse", "convert the model without sparsity"))
    if tensor.custom_quantization:
        found.append((f"{tensor.label} has a custom quantization", _RECONVERT))
    if 0 in tensor.shape:
        found.append((f"{tensor.label} has no elements", "remove it from the model"))
    return found
