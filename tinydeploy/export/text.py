"""The quoting rules of the formats, as types: what a template prints is one of them or it does not render.

Names in a model are anybody's text. Every type here takes any text and gives ASCII that cannot leave the
place it was put in: characters that a format has no escape for become ``<U+XXXX>``, long texts are cut.
"""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from tinydeploy.codegen.literals import Printable, Raw

MAX_LENGTH = 200


class LineText(Printable):
    """One line of printable ASCII without backslashes: for comments that end with the line."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(_printable(text, "\\"))


class JsonText(Printable):
    """A JSON string, quotes included."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__('"' + _printable(text, "").replace("\\", "\\\\").replace('"', '\\"') + '"')


class YamlText(JsonText):
    """A double-quoted YAML scalar, quotes included: of these characters it escapes the same two as JSON."""

    __slots__ = ()


class XmlText(Printable):
    """Character data or an attribute's value, without quotes."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        shown = _printable(text, "").replace("&", "&amp;")
        for sign, entity in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;")):
            shown = shown.replace(sign, entity)
        super().__init__(shown)


class IniText(Printable):
    """A value of an ini or a properties file: no comment, no interpolation, no continuation."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(_printable(text, "\\;#$%{}=").strip() or "-")


class MarkdownText(Printable):
    """Text of a Markdown paragraph, heading or table cell: every punctuation mark that could mean something
    is escaped."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", _printable(text, "\\`").strip() or "-"))


class CMakeText(Printable):
    """A quoted CMake argument, quotes included; no variable is expanded and no list is split in it."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        shown = _printable(text, ";\\$@")
        super().__init__('"' + shown.replace('"', '\\"') + '"')


class KconfigText(Printable):
    """A Kconfig string, quotes included; no variable is expanded in it."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__('"' + _printable(text, '\\"$') + '"')


class Word(Printable):
    """A word that is safe unquoted in every format: letters, digits and ``_ . + -``.

    Raises ValueError for anything else: words come from our code and checked data, never from a model.
    """

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", text):
            raise ValueError(f"{text!r} is not a word")
        super().__init__(text)


def finalize(value: object) -> str:
    """Jinja's last step: let printable types and integers through, refuse every other value.

    Raises TypeError, so that a forgotten conversion fails the first time it runs.
    """
    if isinstance(value, Printable):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"a template prints a {type(value).__name__}: {value!r:.60}")


def render(template: str, **values: object) -> str:
    """Text of a template under ``templates/``, such as ``cmake/CMakeLists.txt.j2``; no line ends with spaces.

    Raises TypeError where it prints a foreign type. A tag on a line of its own leaves no line behind; the
    filter ``count`` shows an integer with its thousands.
    """
    text = _environment().get_template(template).render(values)
    return "\n".join(line.rstrip() for line in text.rstrip("\n").split("\n")) + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tinydeploy.export", "templates"),
        undefined=StrictUndefined,
        finalize=finalize,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda value: Raw(f"{value:,}")
    return environment


def _printable(text: str, refused: str) -> str:
    """Printable ASCII of at most MAX_LENGTH source characters; everything else as ``<U+XXXX>``."""
    if len(text) > MAX_LENGTH:
        text = text[:MAX_LENGTH] + "..."
    return "".join(c if " " <= c <= "~" and c not in refused else f"<U+{ord(c):04X}>" for c in text)
