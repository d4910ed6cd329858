"""The only things that templates may print: text from a model reaches a file through these types or not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from tinydeploy.ir import Array


class Printable:
    """Base of what ``render`` accepts; ``str()`` of it is safe where its class says."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class Raw(Printable):
    """Text that our own code made; never from a model."""


class CIdent(Printable):
    """A C identifier; raises ValueError for anything else."""

    def __init__(self, text: str) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
            raise ValueError(f"{text!r} is not a C identifier")
        super().__init__(text)


class CComment(Printable):
    """Any text, for use inside a block comment: printable ASCII, unable to end the comment.

    Everything else (line ends, bidirectional controls, backslashes, trigraphs) becomes ``<U+XXXX>``; text
    over 200 characters is cut.
    """

    def __init__(self, text: str) -> None:
        if len(text) > 200:
            text = text[:200] + "..."
        escaped = "".join(c if " " <= c <= "~" and c not in "\\" else f"<U+{ord(c):04X}>" for c in text)
        for pair in ("*/", "/*", "??"):
            while pair in escaped:
                escaped = escaped.replace(pair, f"{pair[0]}<U+{ord(pair[1]):04X}>")
        super().__init__(escaped)


class CString(Printable):
    """Any text as a C string literal, quotes included: UTF-8 bytes, everything unusual in octal escapes."""

    def __init__(self, text: str) -> None:
        plain = set(range(0x20, 0x7F)) - {ord('"'), ord("\\"), ord("?")}
        data = text.encode("utf-8", errors="replace")
        super().__init__('"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in data) + '"')


class CFloat(Printable):
    """A float32 constant that reads back to the same bits; ``value`` must be finite."""

    def __init__(self, value: float) -> None:
        if not math.isfinite(value):
            raise ValueError(f"{value} has no C literal")
        shortest = np.format_float_scientific(np.float32(value), unique=True, trim="0")
        super().__init__(f"{shortest}f")


def c_int(value: int) -> str:
    """An integer constant, of type int where it fits; the smallest values have no literals of their own."""
    if value == -(1 << 31):
        return "(-2147483647 - 1)"
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    if -(1 << 31) < value < 1 << 31:
        return str(value)
    return f"{value}u" if 0 < value < 1 << 32 else f"{value}LL"


def c_float(value: float) -> str:
    """A float32 constant of any value, infinities and NaN as the runtime's macros."""
    if math.isfinite(value):
        return str(CFloat(value))
    return "TD_NAN" if math.isnan(value) else ("TD_INFINITY" if value > 0 else "-TD_INFINITY")


def finalize(value: object) -> str:
    """Jinja's last step: let our types and integers through, refuse every other value.

    Raises TypeError, so that a forgotten conversion fails the first time it runs.
    """
    if isinstance(value, Printable):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return c_int(value)
    raise TypeError(f"a template prints a {type(value).__name__}: {value!r:.60}")


def c_array(array: Array, *, columns: int = 96, indent: str = "    ") -> Raw:
    """The elements of an array as wrapped initialisers."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "f":
        return Raw(wrapped([c_float(float(value)) for value in flat], columns, indent))
    return Raw(wrapped([c_int(int(value)) for value in flat], columns, indent))


def wrapped(items: Iterable[str], columns: int = 96, indent: str = "    ") -> str:
    """Comma-separated items in lines of at most ``columns`` characters, each line indented."""
    lines: list[str] = []
    line = indent
    for item in items:
        piece = f"{item}, "
        if len(line) + len(piece) - 1 > columns and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += piece
    lines.append(line.rstrip().removesuffix(","))
    return "\n".join(lines)


def c_call(head: str, arguments: Iterable[str], indent: str, tail: str = ");") -> Raw:
    """``head(a, b, c);`` on one line where it fits in 100 columns, else with the arguments wrapped."""
    items = list(arguments)
    line = f"{indent}{head}({', '.join(items)}{tail}"
    if len(line) <= 100:
        return Raw(line)
    return Raw(f"{indent}{head}(\n{wrapped(items, 98, indent + '    ')}{tail}")
