"""What an import rule sees of its operator, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tinydeploy.errors import Gap, ModelError
from tinydeploy.frontends.tflite.model import Model, Operation, Tensor, short
from tinydeploy.frontends.tflite.validate import REPAIR
from tinydeploy.ir import Attrs


@dataclass(frozen=True, slots=True)
class Imported:
    """An operator in our terms: attributes, the tensors that are its inputs, and which output it makes."""

    attrs: Attrs
    inputs: tuple[int | None, ...]
    output: int = 0


@dataclass(slots=True)
class Context:
    """One operator while it is imported; collects what is not supported about it."""

    model: Model
    operation: Operation
    where: str
    gaps: list[Gap] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The first output's name, which is what converters make of the layer's name."""
        operation = self.operation
        first = self.model.tensors[operation.outputs[0]].name if operation.outputs else ""
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
        index = self.operation.inputs[position]
        if index is None:
            raise ValueError(f"input {position} was not asked for with operands()")
        return self.model.tensors[index]

    @property
    def output(self) -> Tensor:
        return self.output_at(0)

    def output_at(self, position: int) -> Tensor:
        return self.model.tensors[self.operation.outputs[position]]

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
