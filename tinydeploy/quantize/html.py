"""The report as a page of its own; every name in it comes from a model and is escaped."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tinydeploy.quantize.report import COLUMNS, Report, rows, summary


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("tinydeploy.quantize", ""),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def to_html(report: Report) -> str:
    """The page."""
    bars = [_bar(layer.sqnr_db) for layer in report.layers]
    lines = summary(report)
    return _template().render(
        title=report.model, lines=lines, columns=COLUMNS, rows=list(zip(rows(report), bars, strict=True))
    )


def _bar(ratio: float | None) -> int:
    """Length of a layer's bar in percent: 60 dB and more is full."""
    return 0 if ratio is None else round(max(0.0, min(60.0, ratio)) / 0.6)
