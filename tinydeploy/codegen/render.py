"""The template engine with its guard: what is printed must be one of our types (see ``literals``)."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tinydeploy.codegen.literals import CFloat, Raw, finalize


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
    return environment


def render(template: str, **values: object) -> str:
    """Text of a template, trailing spaces removed; raises TypeError where it prints a foreign type."""
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.split("\n"))
