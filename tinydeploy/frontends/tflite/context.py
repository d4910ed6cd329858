"""What an import rule sees of its operator, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tinydeploy.errors import Gap, ModelError
from tinydeploy.frontends.tflite.model import Operation, Tensor, made, short
from tinydeploy.frontends.tflite.validate import REPAIR
from tinydeploy.ir import Array, Attrs, TensorType


@dataclass(frozen=True, slots=True)
class Imported:
    """An operator in our terms: attributes and the tensors that are its inputs.

    It makes the operator's output ``output``, or, where ``makes`` is given, those tensors, in the order of
    its own outputs. ``updates`` are pairs of a variable tensor and the tensor that is its value from the next
    run on.
    """

    attrs: Attrs
    inputs: tuple[int | None, ...]
    output: int = 0
    makes: tuple[int, ...] = ()
    updates: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Context:
    """One operator while it is imported; collects what is not supported about it.

    ``tensors`` are those of the subgraph, followed by what rules have added.
    """

    tensors: list[Tensor]
    operation: Operation
    where: str
    gaps: list[Gap] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first output's name, which is what converters make of the layer's name."""
        operation = self.operation
        first = self.tensors[operation.outputs[0]].name if operation.outputs else ""
        return first or f"{operation.op}#{operation.index}"

    def refuse(self, reason: str, remedy: str) -> None:
        """Something about the operator is not supported."""
        self.gaps.append(Gap(self.name, self.operation.op, reason, remedy))

    def fault(self, what: str) -> ModelError:
        """The file contradicts itself at this operator."""
        place = f"operator {self.operation.index} ({self.operation.op}) {short(self.name)}"
        return ModelError(what, where=f"{self.where}: {place}", fix=REPAIR)

    def operands(self, least: int, most: int, *, outputs: int = 1) -> None:
        """Raise ModelError unless there are ``least`` to ``most`` inputs, the first of them given, and the
        outputs."""
        inputs, made = self.operation.inputs, self.operation.outputs
        if not least <= len(inputs) <= most or None in inputs[:least]:
            given = sum(1 for index in inputs if index is not None)
            allowed = str(least) if least == most else f"{least} to {most}"
            raise self.fault(f"{given} inputs; it takes {allowed}")
        if len(made) != outputs:
            raise self.fault(f"{len(made)} outputs; it has {outputs}")

    def input(self, position: int) -> Tensor:
        """The tensor of an input that ``operands`` has shown to be there."""
        tensor = self.optional(position)
        if tensor is None:
            raise ValueError(f"input {position} was not asked for with operands()")
        return tensor

    def optional(self, position: int) -> Tensor | None:
        """The tensor of an input; None where it is absent."""
        inputs = self.operation.inputs
        index = inputs[position] if position < len(inputs) else None
        return None if index is None else self.tensors[index]

    @property
    def output(self) -> Tensor:
        return self.output_at(0)

    def output_at(self, position: int) -> Tensor:
        return self.tensors[self.operation.outputs[position]]

    def between(self, type_: TensorType, tag: str) -> int:
        """A new tensor for a value between two of the rule's own nodes; the result is its index."""
        return self._add(made(len(self.tensors), f"{self.name}/{tag}", type_))

    def literal(self, type_: TensorType, array: Array, tag: str) -> int:
        """A new constant that the rule has computed; the result is its index."""
        return self._add(made(len(self.tensors), f"{self.name}/{tag}", type_, array))

    def _add(self, tensor: Tensor) -> int:
        self.tensors.append(tensor)
        return tensor.index

    def options(self, kind: int, table: type[Any]) -> Any:
        """The options read as ``table``; None where the file has none. Raises ModelError for another kind."""
        operation = self.operation
        if operation.options is None or operation.options_kind == 0:
            return None
        if operation.options_kind != kind:
            raise self.fault(f"options of kind {operation.options_kind}; {table.__name__} is kind {kind}")
        options = table()
        options.Init(operation.options.Bytes, operation.options.Pos)
        return options

    def required_options(self, kind: int, table: type[Any]) -> Any:
        """As ``options``, and ModelError where there are none."""
        options = self.options(kind, table)
        if options is None:
            raise self.fault(f"{table.__name__} are missing")
        return options
