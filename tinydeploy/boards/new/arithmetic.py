"""Tokens with their lines, and the arithmetic of C on them: what devicetrees and linker scripts share."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.errors import TinyDeployError

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*|[kKmM])\Z")
_SUFFIXES = {"k": 1 << 10, "m": 1 << 20}
_MAX_DEPTH = 64
_MAX_BITS = 64

_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "*": (10, operator.mul),
    "/": (10, operator.floordiv),
    "%": (10, operator.mod),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "<<": (8, operator.lshift),
    ">>": (8, operator.rshift),
    "<": (7, operator.lt),
    ">": (7, operator.gt),
    "<=": (7, operator.le),
    ">=": (7, operator.ge),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "&": (5, operator.and_),
    "^": (4, operator.xor),
    "|": (3, operator.or_),
    "&&": (2, lambda a, b: bool(a) and bool(b)),
    "||": (1, lambda a, b: bool(a) or bool(b)),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a file; ``kind`` is the tokenizer's, ``line`` counts from 1."""

    kind: str
    text: str
    line: int


def tokens(path: Path, text: str, pattern: re.Pattern[str], opening: str) -> Iterator[Token]:
    """The pieces of a text, blanks and comments (the group ``skip``) left out, and one of the kind ``end``.

    ``opening`` are the signs that begin comments and quoted texts. Raises TinyDeployError with file and line
    where nothing matches.
    """
    at, line = 0, 1
    while at < len(text):
        match = pattern.match(text, at)
        if match is None or (match[0] == "/" and text.startswith("/*", at)):
            what = "a comment or a text that does not end" if text[at] in opening else f"{text[at]!r}"
            raise TinyDeployError(f"unexpected {what}", where=f"{path}:{line}")
        kind = match.lastgroup or ""
        if kind != "skip":
            yield Token(kind, match[0], line)
        line += match[0].count("\n")
        at = match.end()
    yield Token("end", "the end of the file", line)


class Arithmetic:
    """A position in a list of tokens, the last of which has the kind ``end``, and expressions there."""

    def __init__(self, path: Path, tokens: list[Token]) -> None:
        self.path = path
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def ahead(self, count: int) -> Token:
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The token here, and go on; raises at the end of the file."""
        token = self.token
        if token.kind == "end":
            raise self.error("the file ends in the middle")
        self._at += 1
        return token

    def take_if(self, text: str) -> Token | None:
        return self.take() if self.token.text == text and self.token.kind != "end" else None

    def expect(self, text: str) -> None:
        if self.take_if(text) is None:
            raise self.error(f"got {self.token.text!r}, {text!r} is missing")

    def error(self, what: str, token: Token | None = None, fix: str = "") -> TinyDeployError:
        line = (token or self.token).line
        return TinyDeployError(what, where=f"{self.path}:{line}", fix=fix)

    def symbol(self, token: Token) -> int:
        """The value of a name in an expression; there is none unless a subclass knows it."""
        raise self.error(f"{token.text!r} is no number", token)

    def number(self) -> int:
        """The number here: decimal, hexadecimal or octal, with ``K``, ``M`` or C's suffixes."""
        token = self.take()
        match = _NUMBER.match(token.text)
        if match is None:
            return self.symbol(token)
        digits = match[1]
        if digits[:2].lower() == "0x":
            value = int(digits, 16)
        else:
            try:
                value = int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
            except ValueError:
                raise self.error(f"{digits!r} is no octal number", token) from None
        return value * _SUFFIXES.get(match[2].lower(), 1)

    def expression(self) -> int:
        """The value of the expression here, choices (``a ? b : c``) included."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error(f"brackets lie more than {_MAX_DEPTH} deep")
        value = self._binary(1)
        if self.take_if("?"):
            first = self.expression()
            self.expect(":")
            second = self.expression()
            value = first if value else second
        self._depth -= 1
        return value

    def _binary(self, weakest: int) -> int:
        left = self._unary()
        while self.token.text in _BINARY and _BINARY[self.token.text][0] >= weakest:
            sign = self.take()
            strength, apply = _BINARY[sign.text]
            right = self._binary(strength + 1)
            if sign.text in "/%" and right == 0:
                raise self.error("division by zero", sign)
            if sign.text in ("<<", ">>") and not 0 <= right < _MAX_BITS:
                raise self.error(f"shift by {right}", sign)
            left = int(apply(left, right))
            if left.bit_length() > _MAX_BITS:
                raise self.error(f"the value has more than {_MAX_BITS} bits", sign)
        return left

    def _unary(self) -> int:
        if self.take_if("("):
            value = self.expression()
            self.expect(")")
            return value
        for sign, apply in (
            ("-", operator.neg),
            ("~", operator.invert),
            ("!", operator.not_),
            ("+", operator.pos),
        ):
            if self.take_if(sign):
                return int(apply(self._unary()))
        return self.number()
