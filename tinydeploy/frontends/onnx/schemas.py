"""What ONNX itself says of an operator: how many operands it takes, and its meaning as a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

Schema = Any
"""``onnx.defs.OpSchema``, of which the package's own type stubs know only a part."""


def schema_of(op: str, domain: str, opset: int) -> Schema | None:
    """The operator's schema in a version of its domain; None where the format does not know it."""
    try:
        return defs.get_schema(op, opset, domain)
    except defs.SchemaError:
        return None


def contradiction(schema: Schema, node: NodeProto) -> str | None:
    """How a node differs from its schema in the number of operands or the names of attributes."""
    inputs, outputs = len(node.input), len(node.output)
    if not schema.min_input <= inputs <= schema.max_input:
        return f"{inputs} inputs; it takes {_range(schema.min_input, schema.max_input)}"
    if not schema.min_output <= outputs <= schema.max_output:
        return f"{outputs} outputs; it has {_range(schema.min_output, schema.max_output)}"
    unknown = [attribute.name for attribute in node.attribute if attribute.name not in schema.attributes]
    if unknown:
        return f"attribute {unknown[0]!r} is none of its attributes in version {schema.since_version}"
    return None


def defaults(schema: Schema) -> dict[str, AttributeProto]:
    """The values of attributes that a node leaves out, by name, where the operator has a default."""
    found = ((name, attribute.default_value) for name, attribute in schema.attributes.items())
    return {
        name: AttributeProto.FromString(value.SerializeToString())
        for name, value in found
        if value.type != AttributeProto.UNDEFINED
    }


def is_known_as(op: str, domain: str, old: int, new: int) -> bool:
    """Whether an operator is defined in an old version of its domain as it is in a newer one."""
    before, after = schema_of(op, domain, old), schema_of(op, domain, new)
    return before is not None and after is not None and before.since_version == after.since_version


def body_of(schema: Schema, node: NodeProto, types: Sequence[TypeProto], opset: int) -> FunctionProto | None:
    """The operator's meaning in simpler operators, where the format gives one."""
    if schema.has_function:
        return _parsed(schema.function_body)
    if not schema.has_context_dependent_function:
        return None
    versions = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
    if not versions:
        return None
    try:
        data = schema.get_context_dependent_function_with_opset_version(
            max(versions), node.SerializeToString(), [type_.SerializeToString() for type_ in types]
        )
    except Exception:  # the library's builders take well-formed nodes for granted
        return None
    return FunctionProto.FromString(data) if data else None


def _parsed(body: FunctionProto) -> FunctionProto:
    copy = FunctionProto()
    copy.CopyFrom(body)
    return copy


def _range(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low} or more" if high > 1 << 20 else f"{low} to {high}"
