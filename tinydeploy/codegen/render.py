"""The template engine with its guard: what is printed must be one of our types (see ``literals``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, TemplateError, meta

from tinydeploy.codegen.literals import CFloat, Raw, c_call, finalize
from tinydeploy.errors import TinyDeployError


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("tinydeploy.codegen", "templates"), PackageLoader("tinydeploy.kernels", "")]
        ),
        undefined=StrictUndefined,
        finalize=finalize,
        autoescape=False,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
    )
    # For text that a template itself wrote: results of macros and literals. Tests forbid it elsewhere.
    environment.filters["raw"] = lambda text: Raw(str(text))
    environment.filters["float32"] = CFloat
    environment.filters["users"] = _users
    return environment


def _users(text: str, operator: str, names: Mapping[str, object]) -> Raw:
    """A template of a user's operator under the same guard; floats among ``names`` print as C literals.

    Raises TinyDeployError that names the operator where it does not render.
    """
    shown = {name: CFloat(value) if isinstance(value, float) else value for name, value in names.items()}
    environment = _environment()
    try:
        unknown = meta.find_undeclared_variables(environment.parse(text)) - shown.keys()
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))} is not known")
        return Raw(environment.from_string(text).render(shown).strip("\n"))
    except (TemplateError, TypeError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise TinyDeployError(
            f"its C template does not render{f', line {line}' if line else ''}: {error}",
            where=f"operator {operator}",
            fix="Print numbers that params gives, and extents of inputs and outputs",
        ) from None


def render(template: str, **values: object) -> str:
    """Text of a template, trailing spaces removed; raises TypeError where it prints a foreign type."""
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _call(head: object, arguments: list[object], indent: str, tail: str = ");") -> object:
    return c_call(str(head), map(str, arguments), indent, tail)


def _prefixed(prefix: object, items: list[object]) -> list[str]:
    return [f"{prefix}{item}" for item in items]


TOOLS: Mapping[str, object] = {"c_call": _call, "prefixed": _prefixed}
"""Functions that the templates of a library call."""
