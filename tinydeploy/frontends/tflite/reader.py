"""From a verified file to a graph, or to everything that keeps it from being one."""

from __future__ import annotations

import dataclasses
from collections import Counter

from tinydeploy.errors import Gap, GraphError, ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends.base import AS_IS, ImportOptions, Survey
from tinydeploy.frontends.tflite import unsigned, variables
from tinydeploy.frontends.tflite.builder import Builder
from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import Model, Operation, Subgraph, read, short
from tinydeploy.frontends.tflite.rules import RULES
from tinydeploy.frontends.tflite.tensors import tensor_gaps, type_of
from tinydeploy.frontends.tflite.validate import REPAIR
from tinydeploy.frontends.tflite.variables import Assign, Read, Variables
from tinydeploy.ir import Graph
from tinydeploy.ops import Site, check

FORMAT = "tflite"

_REMEDIES = {
    "IF": "make the model's control flow static before conversion",
    "WHILE": "make the model's control flow static before conversion",
}
_REPLACE = "replace it in the model by supported operators, or compute that part outside of the model"
_RESOURCE = "RESOURCE"


def load_bytes(data: bytes, name: str, where: str = "", options: ImportOptions = AS_IS) -> Graph:
    """The graph of a file's content; ``name`` becomes the graph's, ``where`` names the file in messages.

    Raises ModelError where the content is damaged or contradicts itself, and UnsupportedError with every gap
    of the model.
    """
    found = survey_bytes(data, name, where, options)
    if found.graph is None:
        raise UnsupportedError(found.gaps, where=where or name)
    return found.graph


def survey_bytes(data: bytes, name: str, where: str = "", options: ImportOptions = AS_IS) -> Survey:
    """What the content holds and all that is not supported of it; the graph where nothing is missing.

    Raises ModelError where the content is damaged or contradicts itself.
    """
    model = read(data, where or name)
    importer = _Importer(model, _chosen(model, options.signature, where or name), where or name)
    gaps = importer.gaps()
    graph = None if gaps else importer.graph(name)
    counts = Counter(operation.op for operation in importer.subgraph.operations)
    return Survey(FORMAT, name, tuple(sorted(counts.items())), gaps, graph)


def _chosen(model: Model, signature: str | None, where: str) -> Subgraph:
    """The subgraph of a signature, or the first one."""
    if signature is None:
        return model.subgraphs[0]
    for candidate in model.signatures:
        if candidate.name == signature:
            return model.subgraphs[candidate.subgraph]
    known = ", ".join(short(candidate.name) for candidate in model.signatures) or "none"
    raise TinyDeployError(
        f"the file has no signature {short(signature)}", where=where, fix=f"It has: {known}"
    )


class _Importer:
    def __init__(self, model: Model, subgraph: Subgraph, where: str) -> None:
        self.subgraph = subgraph
        self._where = where
        self._tensors = list(subgraph.tensors)
        if unsigned.computes_unsigned(subgraph):
            self._tensors = unsigned.as_signed(subgraph.tensors)
        self._variables = Variables(model, where)
        self._made = {index for operation in subgraph.operations for index in operation.outputs}
        self._named_elsewhere = self._made.union(subgraph.inputs)
        self._steps: list[tuple[Context, Imported | Read | Assign]] = []

    def gaps(self) -> tuple[Gap, ...]:
        """Everything that is not supported, in the order of the file."""
        found = self._boundary_gaps()
        for operation in self.subgraph.operations:
            found += self._import(operation)
        return tuple(found)

    def graph(self, name: str) -> Graph:
        """The graph of a model without gaps, verified."""
        if not self.subgraph.outputs:
            raise self._fault("the model has no outputs")
        builder = Builder(self.subgraph, self._tensors, self._variables.initial, name, self._where)
        for context, step in self._steps:
            match step:
                case Imported():
                    builder.node(context, step)
                case Read():
                    builder.read(context, step)
                case Assign():
                    builder.assign(step)
        try:
            graph = builder.freeze()
            check.verify(graph)
        except GraphError as error:
            raise ModelError(error.what, where=f"{self._where}: {error.where}", fix=REPAIR) from error
        return graph

    def _fault(self, what: str) -> ModelError:
        return ModelError(what, where=self._where, fix=REPAIR)

    def _boundary_gaps(self) -> list[Gap]:
        """Gaps of tensors that no operator makes: the model's inputs, and other sources of its outputs."""
        roles = dict.fromkeys(self.subgraph.inputs, "INPUT")
        for index in self.subgraph.outputs:
            if index not in self._made:
                roles.setdefault(index, "OUTPUT")
        return [
            Gap(self._tensors[index].name or f"{role}#{index}", role, reason, remedy)
            for index, role in roles.items()
            for reason, remedy in tensor_gaps(self._tensors[index])
        ]

    def _import(self, operation: Operation) -> list[Gap]:
        context = Context(self._tensors, operation, self._where)
        rule = RULES.get(operation.op)
        if rule is None and operation.op not in variables.OPERATORS:
            context.refuse("the operator is not supported", _REMEDIES.get(operation.op, _REPLACE))
            return context.gaps
        outputs = set(operation.outputs)
        operands = dict.fromkeys((*operation.inputs, *operation.outputs))
        tensors = [self._tensors[index] for index in operands if index is not None]
        faults = [
            (tensor.index, fault)
            for tensor in tensors
            if rule is not None or tensor.type_name != _RESOURCE
            for fault in tensor_gaps(tensor)
        ]
        for index, (reason, remedy) in faults:
            # Others are named where they are made: by another operator or as an input of the model.
            if index in outputs or index not in self._named_elsewhere:
                context.refuse(reason, remedy)
        if faults:
            return context.gaps
        if rule is None:
            step = self._variables.imported(context)
            if step is not None:
                self._steps.append((context, step))
            return context.gaps
        made = rule(context)
        if context.gaps:
            return context.gaps
        nodes = made if isinstance(made, tuple) else (made,)
        self._steps += [(context, imported) for imported in nodes]
        return [gap for imported in nodes for gap in self._limits(context, imported)]

    def _limits(self, context: Context, imported: Imported) -> list[Gap]:
        """What our operator does not support of this one."""
        tensors = [None if index is None else self._tensors[index] for index in imported.inputs]
        made = [self._tensors[index] for index in imported.makes] or [context.output_at(imported.output)]
        site = Site(
            context.name,
            imported.attrs,
            tuple(None if tensor is None else type_of(tensor) for tensor in tensors),
            tuple(map(type_of, made)),
            tuple(
                None if tensor is None or tensor.data is None or tensor.variable else tensor.array()
                for tensor in tensors
            ),
        )
        return [dataclasses.replace(gap, op=context.operation.op) for gap in check.gaps(site)]
