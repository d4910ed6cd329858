"""Walks the nodes of a model in their order: constants are folded, functions and branches opened, the rest
handed to rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto

from tinydeploy.errors import Gap, GraphError, ModelError
from tinydeploy.frontends.onnx import schemas
from tinydeploy.frontends.onnx.attributes import Attributes
from tinydeploy.frontends.onnx.builder import Builder, Ref
from tinydeploy.frontends.onnx.context import Context, Refused, Rule
from tinydeploy.frontends.onnx.folding import Folder, constant_of, shape_result
from tinydeploy.frontends.onnx.interface import static_type
from tinydeploy.frontends.onnx.rules import RULES
from tinydeploy.frontends.onnx.scope import Absent, Binding, Constant, Scope, Unknown
from tinydeploy.frontends.onnx.tensors import TensorError, UnsupportedTensorError
from tinydeploy.frontends.onnx.types import OTHER_TYPES, held, type_proto
from tinydeploy.frontends.onnx.unroll import unroll
from tinydeploy.ir import Array, TensorType

FIRST_OPSET = 7
"""Of older ones, operators that have not changed until this one."""
MAX_NODES = 1 << 15
"""Nodes after functions and branches are opened."""
MAX_DEPTH = 32
REPAIR = "Export or download the model again"

_STATIC = "make the model's control flow static before export"
_REMEDIES = {
    "If": f"{_STATIC}, or make its condition constant: --value INPUT=NUMBER sets an input it depends on",
}
_OF_STRUCTURE = frozenset(("If", "Loop", "Scan", "Shape", "Size"))
"""Settled without a rule, once their operands are known."""
_OF_DATA = frozenset(("NonMaxSuppression", "NonZero", "Unique"))
"""Unless all they read is constant, no plan of memory holds what they make."""
_END_BEFORE = "end the model before it and do this step in the application"
_REPLACE = "replace it in the model by supported operators, or compute that part outside of the model"


def key_of(node: NodeProto) -> str:
    """The operator's name, with its domain where that is not ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


class Importer:
    """One model while it is imported; ``gaps`` is all that is not supported so far."""

    def __init__(
        self,
        builder: Builder,
        functions: Mapping[tuple[str, str, str], FunctionProto],
        declared: Mapping[str, TypeProto],
        where: str,
        data_of: Callable[[TensorProto], Array],
        rules: Mapping[str, Rule] = RULES,
    ) -> None:
        self.builder = builder
        self.gaps: list[Gap] = []
        self._functions = functions
        self._declared = declared
        self._where = where
        self._data_of = data_of
        self._rules = rules
        self._folder = Folder()
        self._count = 0

    def initializers(self, graph: GraphProto, scope: Scope) -> None:
        """Bind a graph's constants."""
        for proto in graph.initializer:
            self._bind(scope, proto.name, self._tensor(proto, f"initializer {proto.name!r}"), "a constant")
        for sparse in graph.sparse_initializer:
            gap = Gap(sparse.values.name, "INITIALIZER", "it is sparse", "store it as a dense tensor")
            self._bind(scope, sparse.values.name, Unknown(gap), "a constant")

    def nodes(self, nodes: Iterable[NodeProto], scope: Scope) -> None:
        for node in nodes:
            self._node(node, scope)

    def find(self, scope: Scope, name: str, reader: str) -> Binding | Unknown | Absent:
        """The value of a name that ``reader`` reads; says what is not supported about it."""
        found = scope.find(name)
        if found is None:
            raise ModelError(
                f"it reads {name!r}, which nothing before it makes",
                where=f"{self._where}: {reader}",
                fix="Nodes must be in an order in which they can run. " + REPAIR,
            )
        if isinstance(found, Unknown) and found.gap is not None:
            self.gaps.append(found.gap)
            found.gap = None
        return found

    def literal(self, constant: Constant) -> Ref | None:
        """A constant as a value of the graph; None, and a gap, where the graph has no such type."""
        found = held(constant.array)
        if found is None or found[1].size == 0:
            what = f"elements of type {constant.array.dtype}" if found is None else "no elements"
            self.gaps.append(Gap(constant.name, "OUTPUT", f"the constant has {what}", OTHER_TYPES))
            return None
        dtype, array = found
        return self.builder.constant(constant.name, TensorType(dtype, array.shape), array)

    # One node

    def _node(self, node: NodeProto, scope: Scope) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            raise ModelError(f"more than {MAX_NODES} nodes", where=self._where)
        visit = _Visit(self, node, scope)
        if visit.constant() or visit.known_shape() or visit.branch() or visit.folded(self._folder):
            return
        local = self._functions.get((node.domain, node.op_type, node.overload))
        if local is not None:
            visit.call(local)
        elif visit.is_outdated:
            visit.refuse_version()
        elif visit.has_unknown:
            visit.skip()
        elif visit.key in self._rules:
            visit.apply_rule()
        elif visit.key in ("Loop", "Scan"):
            visit.unrolled()
        elif (body := visit.schema_body()) is not None:
            visit.call(body)
        else:
            visit.refuse()

    def _tensor(self, proto: TensorProto, what: str) -> Constant | Unknown:
        try:
            return Constant(proto.name, self._data_of(proto))
        except UnsupportedTensorError as error:
            return Unknown(Gap(proto.name, "INITIALIZER", str(error), OTHER_TYPES))
        except TensorError as error:
            raise ModelError(str(error), where=f"{self._where}: {what}", fix=REPAIR) from error

    def _bind(self, scope: Scope, name: str, value: Binding | Unknown | Absent, by: str) -> None:
        if name in scope.names:
            raise ModelError(
                f"{name!r} is made again as {by}; a name has one value", where=self._where, fix=REPAIR
            )
        scope.names[name] = value


class _Visit:
    """One node in one scope."""

    def __init__(self, importer: Importer, node: NodeProto, scope: Scope) -> None:
        self._importer = importer
        self._node = node
        self._scope = scope
        self.key = key_of(node)
        own = node.name or next((name for name in node.output if name), "") or f"{self.key}#{importer._count}"
        self._name = scope.prefix + own
        self._place = f"{importer._where}: node {self._name!r} ({self.key})"
        found = (
            importer.find(scope, name, f"node {self._name!r}") if name else Absent() for name in node.input
        )
        self._inputs = [None if isinstance(value, Absent) else value for value in found]
        self.has_unknown = any(isinstance(value, Unknown) for value in self._inputs)
        self._domain = "" if node.domain == "ai.onnx" else node.domain
        self._opset = self._version()
        self._attributes = self._resolved()
        self._schema = schemas.schema_of(node.op_type, self._domain, self._opset)
        local = (node.domain, node.op_type, node.overload) in importer._functions
        if self._schema is not None and not local:
            self._plain = NodeProto()
            self._plain.CopyFrom(node)
            del self._plain.attribute[:]
            self._plain.attribute.extend(self._attributes)
            if (what := schemas.contradiction(self._schema, self._plain)) is not None:
                raise self._fault(what)
        else:
            self._plain = node

    # Ways to settle a node; each says whether it did

    def constant(self) -> bool:
        if self.key != "Constant":
            return False
        found = constant_of(self._plain)
        if found is None:
            self._refuse("its value is a string or sparse", OTHER_TYPES)
        elif isinstance(found, TensorProto):
            self._bind(0, self._importer._tensor(found, f"node {self._name!r}"))
        else:
            self._bind(0, Constant(self._node.output[0], found))
        return True

    def known_shape(self) -> bool:
        value = self._inputs[0] if self._inputs else None
        if self.key not in ("Shape", "Size") or value is None or isinstance(value, Unknown):
            return False
        shape = value.shape if isinstance(value, Ref) else value.array.shape
        self._bind(0, Constant(self._node.output[0], shape_result(self._plain, shape)))
        return True

    def branch(self) -> bool:
        """An If whose condition is known is its branch."""
        condition = self._inputs[0] if self._inputs else None
        if self.key != "If" or not isinstance(condition, Constant):
            return False
        if condition.array.size != 1:
            raise self._fault(f"its condition has {condition.array.size} elements")
        attributes = Attributes(self._attributes, self._fault)
        graph = attributes.graph("then_branch" if condition.array.all() else "else_branch")
        inner = self._scope.branch(f"{self._name}/")
        self._check_depth(inner)
        if len(graph.output) != len(self._node.output):
            raise self._fault(
                f"its branch has {len(graph.output)} outputs, the node {len(self._node.output)}"
            )
        start = self._importer.builder.count
        self._importer.initializers(graph, inner)
        self._importer.nodes(graph.node, inner)
        self._take(inner, [output.name for output in graph.output], start)
        return True

    def folded(self, folder: Folder) -> bool:
        arrays: list[Array | None] = []
        for index, value in enumerate(self._inputs):
            if isinstance(value, Ref) and self.key == "CastLike" and index == 1:
                arrays.append(np.zeros(1, value.dtype.numpy))
            elif value is None or isinstance(value, Constant):
                arrays.append(None if value is None else value.array)
            else:
                return False
        if not any(array is not None for array in arrays) and self._inputs:
            return False
        results = folder.fold(self._plain, arrays, self._opset)
        if results is None:
            return False
        wanted = [index for index, name in enumerate(self._node.output) if name]
        if len(results) != len(wanted):
            raise self._fault(f"{len(wanted)} outputs; its operands make {len(results)}")
        for index, array in zip(wanted, results, strict=True):
            self._bind(index, Constant(self._node.output[index], array))
        return True

    def call(self, body: FunctionProto) -> None:
        """Put a function's body in the place of the node."""
        importer = self._importer
        if len(self._inputs) > len(body.input) or len(self._node.output) > len(body.output):
            raise self._fault(
                f"function {body.name!r} takes {len(body.input)} inputs, makes {len(body.output)}"
            )
        attributes = {proto.name: proto for proto in body.attribute_proto}
        if self._schema is not None:
            attributes |= schemas.defaults(self._schema)
        attributes.update((proto.name, proto) for proto in self._attributes)
        opsets = {**self._scope.opsets, **{_domain(item.domain): item.version for item in body.opset_import}}
        inner = self._scope.body(opsets, f"{self._name}/", attributes)
        self._check_depth(inner)
        for index, name in enumerate(body.input):
            value = self._inputs[index] if index < len(self._inputs) else None
            importer._bind(inner, name, Absent() if value is None else value, "an input of a function")
        start = importer.builder.count
        importer.nodes(body.node, inner)
        self._take(inner, list(body.output), start)

    def skip(self) -> None:
        """An input is not known; say at least whether the operator is."""
        supported = self.key in self._importer._rules or self.key in _OF_STRUCTURE
        if self.key in _OF_DATA:
            self._refuse("the shape of its result depends on the data", _END_BEFORE)
        elif not supported and self.schema_body() is None:
            self.refuse()
        else:
            self._lose()

    def apply_rule(self) -> None:
        importer = self._importer
        bindings = [value for value in self._inputs if not isinstance(value, Unknown)]
        context = self._context(bindings)
        try:
            importer._rules[self.key](context)
        except Refused:
            self._lose()
        except (ArithmeticError, LookupError, TypeError, ValueError, GraphError) as error:
            # Rules take operands of the right types and shapes for granted.
            raise self._fault(f"its inputs and attributes do not fit each other ({error})") from error
        else:
            for index, name in enumerate(self._node.output):
                if index < len(context.results):
                    self._bind(index, context.results[index])
                elif name:
                    reason = f"its output {index}, {name!r}, is not supported"
                    self._bind(index, Unknown(Gap(self._name, self.key, reason, _REPLACE)))
        importer.gaps += context.gaps

    def unrolled(self) -> None:
        """A Scan or Loop is its body, as often as it runs."""
        bindings = [value for value in self._inputs if not isinstance(value, Unknown)]
        context, start = self._context(bindings), self._importer.builder.count
        try:
            results = unroll(context, bindings, self._step)
        except Refused:
            results = None
        except (ArithmeticError, LookupError, TypeError, ValueError, GraphError) as error:
            raise self._fault(f"its inputs and body do not fit each other ({error})") from error
        self._importer.gaps += context.gaps
        if results is None:
            self._lose()
            return
        for index, value in enumerate(results[: len(self._node.output)]):
            name = self._node.output[index]
            if name and isinstance(value, Ref) and value.id >= start and value not in results[:index]:
                value = self._importer.builder.rename(value, name)
            self._bind(index, value)

    def _step(self, step: int, graph: GraphProto, inputs: Sequence[Binding]) -> list[Binding] | None:
        """The body's outputs for one step of a loop; None where one of them is not known."""
        importer, inner = self._importer, self._scope.branch(f"{self._name}/{step}/")
        self._check_depth(inner)
        for info, value in zip(graph.input, inputs, strict=True):
            importer._bind(inner, info.name, value, "an input of a body")
        importer.initializers(graph, inner)
        importer.nodes(graph.node, inner)
        found = [importer.find(inner, output.name, f"node {self._name!r}") for output in graph.output]
        known = [value for value in found if not isinstance(value, Unknown | Absent)]
        return known if len(known) == len(found) else None

    def schema_body(self) -> FunctionProto | None:
        """What the operator means in simpler ones, if ONNX says so."""
        if self._schema is None or any(isinstance(value, Unknown) for value in self._inputs):
            return self._schema.function_body if self._schema and self._schema.has_function else None
        types = [
            TypeProto()
            if value is None
            else type_proto(value.type if isinstance(value, Ref) else value.array)
            for value in self._inputs
            if not isinstance(value, Unknown)
        ]
        return schemas.body_of(self._schema, self._plain, types, self._opset)

    def refuse(self) -> None:
        domain = self._domain or "ai.onnx"
        reason = f"the operator {self._node.op_type} of the domain {domain} is not supported"
        self._refuse(reason, _REMEDIES.get(self.key, _REPLACE))

    @property
    def is_outdated(self) -> bool:
        """Whether the node means something of an opset that is not supported any more."""
        if self._domain or self._opset >= FIRST_OPSET:
            return False
        return not schemas.is_known_as(self._node.op_type, "", self._opset, FIRST_OPSET)

    def refuse_version(self) -> None:
        reason = f"{self._node.op_type} of opset {self._opset} is not supported; {FIRST_OPSET} and newer are"
        self._refuse(reason, "export for a newer opset, or use onnx.version_converter")

    # Inside

    def _refuse(self, reason: str, remedy: str) -> None:
        self._importer.gaps.append(Gap(self._name, self.key, reason, remedy))
        self._lose()

    def _context(self, bindings: Sequence[Binding | None]) -> Context:
        return Context(
            self._plain,
            name=self._name,
            opset=self._opset,
            place=self._place,
            builder=self._importer.builder,
            inputs=bindings,
            attributes=self._attributes,
        )

    def _lose(self) -> None:
        """The outputs of something unsupported: values of their declared types, so that later gaps show."""
        for index, name in enumerate(self._node.output):
            declared = self._importer._declared.get(name)
            type_ = None if declared is None or self._scope.depth else static_type(declared)
            value = Unknown() if type_ is None else self._importer.builder.value(name, type_)
            self._bind(index, value)

    def _bind(self, index: int, value: Binding | Unknown | Absent) -> None:
        if name := self._node.output[index]:
            self._importer._bind(self._scope, name, value, f"output {index} of node {self._name!r}")

    def _take(self, inner: Scope, names: Sequence[str], start: int) -> None:
        """Bind the node's outputs to values of a scope inside; those made there take the outer names."""
        for index, outer in enumerate(self._node.output):
            if not outer:
                continue
            value = self._importer.find(inner, names[index], f"node {self._name!r}")
            if isinstance(value, Absent):
                raise self._fault(f"its output {outer!r} has no value")
            if isinstance(value, Ref) and value.id >= start:
                value = self._importer.builder.rename(value, outer)
            self._bind(index, value)

    def _resolved(self) -> list[AttributeProto]:
        """The attributes, references to the calling function's replaced by what they mean here."""
        result: list[AttributeProto] = []
        for proto in self._node.attribute:
            if not proto.ref_attr_name:
                result.append(proto)
            elif (actual := (self._scope.attributes or {}).get(proto.ref_attr_name)) is not None:
                copy = AttributeProto()
                copy.CopyFrom(actual)
                copy.name = proto.name
                result.append(copy)
        return result

    def _version(self) -> int:
        version = self._scope.opsets.get(self._domain)
        if version is None:
            if not self._domain:
                raise self._fault("the file gives no version of ai.onnx")
            return 1
        return int(version)

    def _check_depth(self, inner: Scope) -> None:
        if inner.depth > MAX_DEPTH:
            raise self._fault(f"functions or branches lie more than {MAX_DEPTH} deep in each other")

    def _fault(self, what: str) -> ModelError:
        return ModelError(what, where=self._place, fix=REPAIR)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name
