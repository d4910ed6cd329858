"""docs/SUPPORTED_OPS.md from the operators' own words, so that the document cannot promise anything else."""

from __future__ import annotations

from collections.abc import Iterable

from tinydeploy.frontends.tflite.rules import RULES
from tinydeploy.kernels import SCHEDULES
from tinydeploy.ops import OPS, AnyOperator

_HEAD = """\
# Supported operators

Written by `pytest tests/project/test_supported_ops.py --update-golden` from the operators' own constraints;
do not edit. A model that breaks one of them is refused with every such node at once, each with its remedy:
`tinydeploy inspect MODEL` lists them.
"""


def supported_ops() -> str:
    """The document as Markdown: what front ends read, then every operator's limits and schedules."""
    return "\n".join([_HEAD, *_formats(), *(_operator(operator) for operator in _in_order(OPS.values()))])


def _formats() -> list[str]:
    names = ", ".join(f"`{name}`" for name in sorted(RULES))
    return ["## Formats\n", f"- TensorFlow Lite (`.tflite`): {names}\n"]


def _in_order(operators: Iterable[AnyOperator]) -> list[AnyOperator]:
    return sorted(operators, key=lambda operator: operator.name)


def _operator(operator: AnyOperator) -> str:
    lines = [f"## {operator.name}\n", f"{_sentence(operator.doc)}\n"]
    lines += [f"Inputs: {_roles(operator.roles)}.\n"]
    if operator.constraints:
        lines += ["| what must hold | what to do where it does not |", "| --- | --- |"]
        lines += [f"| {_cell(item.doc)} | {_cell(item.remedy)} |" for item in operator.constraints]
        lines.append("")
    schedules = [item for item in SCHEDULES if issubclass(operator.attrs, item.op)]
    if schedules:
        lines += ["| schedule | how it computes |", "| --- | --- |"]
        lines += [f"| `{item.name}` | {_cell(item.doc)} |" for item in schedules]
    elif operator.view:
        lines.append("Computes nothing: the output shares the memory of the input.")
    else:
        lines.append("No schedule computes it yet.")
    return "\n".join([*lines, ""])


_REPEATS = {"?": " (optional)", "*": " (any number)"}


def _roles(roles: tuple[str, ...]) -> str:
    return ", ".join(f"`{role.rstrip('?*')}`{_REPEATS.get(role[-1], '')}" for role in roles)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
