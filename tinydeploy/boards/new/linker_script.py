"""The memories of a GNU linker script (binutils manual, "Linker Scripts": Expressions, MEMORY Command)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.boards.model import Kind
from tinydeploy.boards.new.arithmetic import Arithmetic, Token, tokens
from tinydeploy.boards.new.facts import Facts, Memory
from tinydeploy.errors import TinyDeployError

FORM = "linker script"
_TOKENS = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*|\#[^\n]*)
    |(?P<string>"[^"\n]*")
    |(?P<word>[A-Za-z0-9_.$\\]+)
    |(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[-+*/&|]=|[{}();:=<>\[\],/~!%^&|*+?@-])""",
    re.VERBOSE | re.DOTALL,
)
_SPELLINGS = {
    "ORIGIN": "origin",
    "org": "origin",
    "o": "origin",
    "LENGTH": "length",
    "len": "length",
    "l": "length",
}
_NAMES = (
    (Kind.RAM, re.compile(r"ram|tcm|ccm|data|stack|heap", re.IGNORECASE)),
    (Kind.FLASH, re.compile(r"flash|rom|text|vector|interrupt|code", re.IGNORECASE)),
)
# Zephyr's scripts keep the tables of their own tools there: no memory of the chip.
_NO_MEMORY = ("IDT_LIST",)
_CODE_SECTIONS = (".text", "text", ".isr_vector", ".vectors", "rom_start")
_DATA_SECTIONS = (".bss", "bss")


@dataclass(frozen=True, slots=True)
class _Region:
    name: str
    attributes: str
    origin: int
    length: int


def read_linker_script(path: Path, text: str) -> Facts:
    """The memories of a script, and which of them hold code and data; it tells no core and no board.

    Raises TinyDeployError with file and line.
    """
    parser = _Parser(path, list(tokens(path, text, _TOKENS, opening='"/')))
    regions = [region for region in parser.parse() if region.length and region.name not in _NO_MEMORY]
    if not regions:
        raise TinyDeployError(
            "has no MEMORY block", where=str(path), fix="Give the script that defines the memories"
        )
    notes: list[str] = []
    memories: list[Memory] = []
    for region in sorted(regions, key=lambda region: (region.origin, -region.length)):
        if memories and memories[-1].end is not None and region.origin < memories[-1].end:
            notes.append(f"{region.name} overlaps {memories[-1].name} and is left out")
            continue
        kind = _kind(region, parser.placed)
        if kind is None:
            raise TinyDeployError(
                f"whether {region.name} is flash or RAM cannot be told: it has no attributes, and its name "
                "says neither",
                where=str(path),
                fix="Write (rx) or (rw) behind its name",
            )
        memories.append(Memory(region.name, kind, region.length, region.origin))
    return Facts(
        path=path,
        form=FORM,
        memories=tuple(memories),
        code=_holder(parser.placed, _CODE_SECTIONS, memories, Kind.FLASH),
        data=_holder(parser.placed, _DATA_SECTIONS, memories, Kind.RAM),
        notes=tuple(notes),
    )


def _kind(region: _Region, placed: dict[str, str]) -> Kind | None:
    """Writable memory is RAM; without attributes the sections that go there tell, then the name."""
    wanted = region.attributes.split("!")[0].lower()
    if wanted:
        return Kind.RAM if "w" in wanted else Kind.FLASH
    for sections, kind in ((_CODE_SECTIONS, Kind.FLASH), (_DATA_SECTIONS, Kind.RAM)):
        if any(placed.get(section) == region.name for section in sections):
            return kind
    return next((kind for kind, pattern in _NAMES if pattern.search(region.name)), None)


def _holder(placed: dict[str, str], sections: tuple[str, ...], memories: list[Memory], kind: Kind) -> str:
    fitting = {memory.name for memory in memories if memory.kind is kind}
    return next((placed[section] for section in sections if placed.get(section) in fitting), "")


class _Parser(Arithmetic):
    """Reads assignments and MEMORY; of SECTIONS it keeps which region an output section goes to."""

    def __init__(self, path: Path, tokens: list[Token]) -> None:
        super().__init__(path, tokens)
        self._symbols: dict[str, int] = {}
        self._regions: dict[str, _Region] = {}
        self._aliases: dict[str, str] = {}
        self.placed: dict[str, str] = {}

    def parse(self) -> tuple[_Region, ...]:
        while self.token.kind != "end":
            self._command()
        self.placed = {section: self._aliases.get(region, region) for section, region in self.placed.items()}
        return tuple(self._regions.values())

    def _command(self) -> None:
        word = self.take()
        if word.text == "MEMORY" and self.token.text == "{":
            self._memory()
        elif word.text == "SECTIONS" and self.token.text == "{":
            self._sections()
        elif word.text == "INCLUDE":
            raise self.error(
                f"INCLUDE {self.token.text} is not followed",
                word,
                fix="Give the file that has the MEMORY block",
            )
        elif word.text == "REGION_ALIAS" and self.take_if("("):
            alias = self.take().text.strip('"')
            self.expect(",")
            self._aliases[alias] = self.take().text.strip('"')
        elif word.kind == "word" and self.token.text == "=":
            self._assign(word.text)
        elif self.token.text == "(":
            self._skip("(", ")")

    def _assign(self, name: str) -> None:
        """Keep a symbol whose value can be told here; addresses of sections cannot."""
        self.expect("=")
        start, depth = self._at, self._depth
        try:
            self._symbols[name] = self.expression()
        except TinyDeployError:
            self._at, self._depth = start, depth
            while self.take().text != ";":
                pass

    def _memory(self) -> None:
        self.expect("{")
        while self.take_if("}") is None:
            name = self.take()
            if name.text == "INCLUDE":
                raise self.error(
                    f"INCLUDE {self.token.text} is not followed", name, fix="Put that file's text here"
                )
            attributes = ""
            if self.take_if("("):
                while self.take_if(")") is None:
                    attributes += self.take().text
            self.expect(":")
            values: dict[str, int] = {}
            for _ in range(2):
                key = self.take()
                if key.text not in _SPELLINGS:
                    raise self.error(f"got {key.text!r}, ORIGIN or LENGTH is allowed", key)
                self.expect("=")
                values[_SPELLINGS[key.text]] = self.expression()
                self.take_if(",")
            if values.keys() != {"origin", "length"} or not all(0 <= v < 1 << 33 for v in values.values()):
                raise self.error(f"{name.text} needs an ORIGIN and a LENGTH below 4 GiB", name)
            self._regions[name.text] = _Region(name.text, attributes, values["origin"], values["length"])

    def symbol(self, token: Token) -> int:
        """Symbols set before, and the functions of the manual that MEMORY blocks use."""
        name = token.text
        if name in ("ORIGIN", "org", "LENGTH", "len") and self.take_if("("):
            region = self.take()
            self.expect(")")
            found = self._regions.get(self._aliases.get(region.text, region.text))
            if found is None:
                raise self.error(f"the region {region.text!r} is not defined before", region)
            return found.origin if name in ("ORIGIN", "org") else found.length
        if name == "DEFINED" and self.take_if("("):
            defined = self.take().text in self._symbols
            self.expect(")")
            return int(defined)
        if name in ("MAX", "MIN") and self.take_if("("):
            first = self.expression()
            self.expect(",")
            second = self.expression()
            self.expect(")")
            return max(first, second) if name == "MAX" else min(first, second)
        if name in self._symbols:
            return self._symbols[name]
        raise self.error(
            f"{name!r} has no value in this file",
            token,
            fix="Write a number in its place, as the linker is told",
        )

    def _sections(self) -> None:
        """Which region each output section goes to: the name behind ``>`` at the end of its block."""
        self.expect("{")
        section = ""
        while self.take_if("}") is None:
            token = self.take()
            if token.text == "{":
                self._skip_rest("{", "}")
                region = self._region_behind()
                if section and region:
                    self.placed.setdefault(section, region)
                section = ""
            elif token.text == "(":
                self._skip_rest("(", ")")
            elif token.kind == "word" and not section:
                section = token.text
            elif token.text == ";":
                section = ""

    def _region_behind(self) -> str:
        """The region of the block that ended here; what else may follow it is passed by."""
        region = self.take().text if self.take_if(">") else ""
        if self.token.text == "AT":
            self.take()
        while self.token.text in (">", ":", "="):
            self.take()
            self.take()
        return region

    def _skip(self, opening: str, closing: str) -> None:
        self.expect(opening)
        self._skip_rest(opening, closing)

    def _skip_rest(self, opening: str, closing: str) -> None:
        depth = 1
        while depth:
            text = self.take().text
            depth += (text == opening) - (text == closing)
