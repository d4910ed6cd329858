"""Words for TOML files out of foreign text: identifiers, titles, comments, and marks of what is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MARK = "FILL IN"
"""Stands in front of every line that a person has to complete."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that the source does not tell: the draft's file, the key, and what it means."""

    file: str
    key: str
    what: str


@dataclass(slots=True)
class Page:
    """A TOML file under construction: its lines, and what is missing in them."""

    file: str
    lines: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def add(self, *lines: str) -> None:
        self.lines += lines

    def note(self, text: str) -> None:
        self.lines.append(f"# {comment(text)}")

    def lacks(self, key: str, what: str, *example: str) -> None:
        """A marked comment and an example, also as comment, of what is to be written."""
        self.missing.append(Missing(self.file, key, what))
        self.lines.append(f"# {MARK}: {comment(what)}")
        self.lines += [f"# {line}" for line in example]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip("\n") + "\n"


def identifier(text: str, default: str) -> str:
    """A word of letters, digits, ``-`` and ``_`` that begins with a letter."""
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_")
    word = re.sub(r"^[^A-Za-z]+", "", word)
    return word or default


def title(text: str, default: str) -> str:
    """Text in the letters that titles may have."""
    kept = " ".join(re.sub(r"[^A-Za-z0-9 ,._/()+-]", " ", text).split()).lstrip(" ,._/()+-")
    return kept[:80].rstrip() or default


def comment(text: str) -> str:
    """Text in one line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
