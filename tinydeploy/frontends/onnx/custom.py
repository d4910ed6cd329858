"""Import rules of operators that a user defines (docs/custom_operators.md)."""

from __future__ import annotations

from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ops.custom import Custom, Definition


def rules_of(definitions: tuple[Definition, ...]) -> dict[str, Rule]:
    """An import rule for each definition, by the operator's name with its domain."""
    return {definition.op: _rule(definition) for definition in definitions}


def _rule(definition: Definition) -> Rule:
    def rule(context: Context) -> None:
        values = tuple((name, context.value(name)) for name in context.all_names())
        inputs = (context.optional(index) for index in range(context.inputs_given))
        context.set(*context.emit_all(Custom(definition, values), *inputs))

    return rule
