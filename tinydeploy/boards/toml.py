"""TOML with typed access: every value is checked where it is read, every key that nobody read is an error."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tinydeploy.errors import TinyDeployError

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[0-9]+)*\Z")
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,:._/()+-]*\Z")


class Table:
    """One table of a TOML file. Errors name the file and the key, such as ``block[2].base``."""

    def __init__(self, values: dict[str, object], file: Path, path: str = "") -> None:
        self._values = values
        self._read: set[str] = set()
        self.file = file
        self.path = path

    def error(self, key: str, what: str, fix: str = "") -> TinyDeployError:
        return TinyDeployError(what, where=f"{self.file}: {self._name(key)}", fix=fix)

    def has(self, key: str) -> bool:
        return key in self._values

    def identifier_keys(self) -> tuple[str, ...]:
        """The keys of a table whose keys are free, such as the buses of a clock."""
        for key in self._values:
            if not _IDENTIFIER.match(key):
                raise self.error(key, "a key of letters, digits, _ and - is allowed")
        return tuple(self._values)

    def identifier(self, key: str, default: str | None = None) -> str:
        """A word of letters, digits, ``_`` and ``-``: all that templates render."""
        return self._text(key, _IDENTIFIER, "a word of letters, digits, _ and -", default)

    def name(self, key: str) -> str:
        """A word as ``identifier`` takes it, or one with a version at its end, such as ``4.1``."""
        return self._text(key, _NAME, "a word of letters, digits, _ and -, with .DIGITS at its end", None)

    def title(self, key: str) -> str:
        return self._text(key, _TITLE, "letters, digits, blanks and ,:._/()+-", None)

    def integer(self, key: str, default: int | None = None, *, low: int = 0, high: int = 0xFFFFFFFF) -> int:
        value = self._get(key, default)
        if type(value) is not int:
            raise self.error(key, f"got {value!r}, a whole number is allowed")
        if not low <= value <= high:
            raise self.error(key, f"got {value}, {low} to {high} are allowed")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        if type(value) is not bool:
            raise self.error(key, f"got {value!r}, true or false are allowed")
        return value

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        value = self._get(key, default)
        if not isinstance(value, str) or value not in allowed:
            raise self.error(key, f"got {value!r}, allowed: {', '.join(allowed)}")
        return value

    def identifiers(self, key: str) -> tuple[str, ...]:
        values = self._get(key, [])
        if not isinstance(values, list):
            raise self.error(key, f"got {values!r}, a list is allowed")
        each = Table({str(index): value for index, value in enumerate(values)}, self.file, self._name(key))
        return tuple(each.identifier(str(index)) for index in range(len(values)))

    def table(self, key: str) -> Table:
        return self._table(self._get(key, None), key, self._name(key))

    def tables(self, key: str, *, single: bool = False) -> Iterator[Table]:
        """The tables of a list; none where the key is missing. ``single``: one table may stand for a list."""
        values = self._get(key, [])
        if single and isinstance(values, dict):
            yield self.table(key)
            return
        if not isinstance(values, list):
            raise self.error(key, "write it as [[" + self._name(key) + "]]")
        for index, value in enumerate(values):
            yield self._table(value, key, f"{self._name(key)}[{index}]")

    def finish(self) -> None:
        """Raise for the keys that were not read: misspelled, or of a newer version."""
        unknown = sorted(self._values.keys() - self._read)
        if unknown:
            known = ", ".join(sorted(self._read))
            raise self.error(unknown[0], f"unknown key. Known here: {known}")

    def _table(self, value: object, key: str, path: str) -> Table:
        if not isinstance(value, dict):
            raise self.error(key, f"got {value!r}, a table is allowed")
        return Table(value, self.file, path)

    def _text(self, key: str, pattern: re.Pattern[str], allowed: str, default: str | None) -> str:
        value = self._get(key, default)
        if not isinstance(value, str) or not pattern.match(value):
            raise self.error(key, f"got {value!r}, allowed: {allowed}")
        return value

    def _get(self, key: str, default: object) -> object:
        self._read.add(key)
        if key in self._values:
            return self._values[key]
        if default is None:
            raise self.error(key, "this key is missing")
        return default

    def _name(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def read_toml(file: Path) -> Table:
    """The root table of a file; raises TinyDeployError where it is unreadable or not TOML."""
    try:
        return Table(tomllib.loads(file.read_text(encoding="utf-8")), file)
    except (OSError, UnicodeDecodeError) as error:
        raise TinyDeployError(f"cannot be read ({error})", where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise TinyDeployError(f"is not valid TOML: {error}", where=str(file)) from error
