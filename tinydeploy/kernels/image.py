"""Images as rows: what the schedules of convolution and pooling share."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import TensorType
from tinydeploy.kernels.base import Access, Result
from tinydeploy.ops import AnySite
from tinydeploy.ops.window import Window


def image_access(site: AnySite, vertical: Window) -> Access:
    """The lines of input 0, NHWC with N = 1."""
    height = site.input(0).shape[1]
    return Access(height, site.input(0).bytes // height, vertical.stride, vertical.extent, vertical.before)


def image_result(site: AnySite) -> Result:
    """The lines of the output, NHWC with N = 1."""
    height = site.outputs[0].shape[1]
    return Result(height, site.outputs[0].bytes // height)


def steps_ctype(type_: TensorType) -> str:
    """The C type of signed steps."""
    return f"int{type_.dtype.bits}_t"


def interior(horizontal: Window, width: int, outputs: int) -> tuple[int, int]:
    """Output columns [first, end) whose windows lie wholly inside a row of ``width`` pixels."""
    first = min(-(-horizontal.before // horizontal.stride), outputs)
    end = (width - horizontal.extent + horizontal.before) // horizontal.stride + 1
    return first, max(first, min(end, outputs))


def spans(horizontal: Window, width: int, outputs: int) -> tuple[tuple[int, int, bool], ...]:
    """The output columns as (first, end, touches a border), empty spans left out."""
    first, end = interior(horizontal, width, outputs)
    parts = ((0, first, True), (first, end, False), (end, outputs, True))
    return tuple(part for part in parts if part[0] < part[1])


@dataclass(frozen=True, slots=True)
class Columns:
    """Output columns [first, end) without [skip_first, skip_end), done by one piece of code."""

    first: int
    end: int
    skip_first: int
    skip_end: int
    border: bool

    @property
    def next(self) -> str:
        """The C expression that steps x to the next column."""
        if self.skip_first == self.skip_end:
            return "++x"
        return f"x = x == {self.skip_first - 1} ? {self.skip_end} : x + 1"


def columns(horizontal: Window, width: int, outputs: int) -> tuple[Columns, ...]:
    """All output columns: those whose windows lie inside the row, and those that touch a border.

    Left and right border share their code. Empty parts are left out.
    """
    first, end = interior(horizontal, width, outputs)
    inside = Columns(first, end, end, end, border=False)
    if first == end:
        return (Columns(0, outputs, 0, 0, border=True),)
    if first and end < outputs:
        return Columns(0, outputs, first, end, border=True), inside
    if first:
        return Columns(0, first, 0, 0, border=True), inside
    return (inside,) if end == outputs else (inside, Columns(end, outputs, 0, 0, border=True))


def window_text(vertical: Window, horizontal: Window) -> str:
    """``3x3`` with stride and dilation where they are not 1."""
    text = f"{vertical.size}x{horizontal.size}"
    if (vertical.stride, horizontal.stride) != (1, 1):
        text += f" stride {vertical.stride}x{horizontal.stride}"
    if (vertical.dilation, horizontal.dilation) != (1, 1):
        text += f" dilation {vertical.dilation}x{horizontal.dilation}"
    return text


def shape_text(site: AnySite) -> str:
    """``25x5x64 -> 25x5x64``."""
    sides = (site.input(0).shape[1:], site.outputs[0].shape[1:])
    return " -> ".join("x".join(map(str, side)) for side in sides)
