"""The worst-case stack of an image, proved from its ELF file.

Frames come from the compiler (``-fstack-usage``, ``-fstack-size-section``) and from the instructions,
whichever is larger: a compiler does not know what inline assembly pushes, and libraries come without figures.
Edges come from the instructions; a jump to another function counts as a call. Calls through pointers are
declared below. To the deepest chain from reset comes the deepest interrupt: interrupts do not nest. The fault
handler is left out: it runs on a stack of its own, once, and nothing runs after it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tinydeploy.errors import BudgetError, ToolError
from tinydeploy.firmware.callgraph import CallGraph, Function, can_read, read_call_graph

FENCE_BYTES = 256
"""The lowest bytes of the stack's region, which startup fences off (``TD_STACK_FENCE_BYTES``)."""

_FRAME_BYTES = 32 + 4  # Armv7-M ARM B1.5.7: eight words, and one to align them
_FLOAT_FRAME_BYTES = 104 + 4
_FAULT = "td_fault_entry"
_RESET = "Reset_Handler"
_VECTORS = "td_vectors"
_TRAP = "td_trap_entry"
_MODEL = ("init", "input", "output", "run", "step", "reset", "use")
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class StackBound:
    """``bytes`` that the stack never exceeds. ``chain`` is the deepest one, ``interrupt`` the handler's."""

    bytes: int
    chain: tuple[str, ...]
    interrupt_bytes: int
    interrupt: tuple[str, ...]


def stack_bound(elf: Path, usage: Sequence[Path], prefix: str, *, floats: bool) -> StackBound | None:
    """Prove the bound of an image that serves the model ``prefix``; None for architectures without a reader.

    ``usage`` are the ``.su`` files of gcc, ``floats`` says that the core has an FPU. Raises ToolError for
    recursion, for calls through pointers that nobody declared and for frames of unknown size.
    """
    if not can_read(elf):
        return None
    graph = read_call_graph(elf)
    finder = _Finder(graph, {**_usage_of_files(usage), **_usage_of_section(elf, graph)}, prefix)
    depth, chain = finder.deepest(graph.named(_RESET))
    interrupt = max((finder.deepest(handler) for handler in _handlers(graph)), default=(0, ()))
    frame = 0
    if _VECTORS in graph.objects:  # the core itself pushes a frame
        frame = _FLOAT_FRAME_BYTES if floats else _FRAME_BYTES
    return StackBound(depth + frame + interrupt[0], chain, frame + interrupt[0], interrupt[1])


def check_stack(bound: StackBound, reserved_bytes: int, where: str) -> None:
    """Raise BudgetError where the stack's region is smaller than its bound and the fence."""
    needed = bound.bytes + FENCE_BYTES
    if needed > reserved_bytes:
        raise BudgetError(
            f"the stack can take {bound.bytes:,} bytes, and {FENCE_BYTES} fence it off; "
            f"{reserved_bytes:,} are reserved. Deepest: {' > '.join(bound.chain)}",
            where=where,
            fix=f"Set stack_bytes in the chip's file to {-(-needed // 256) * 256} or more",
        )


class _Finder:
    def __init__(self, graph: CallGraph, usage: Mapping[str, int], prefix: str) -> None:
        self._graph = graph
        self._usage = usage
        hooks = [found for found in graph.starting("td_app_") if found.name != "td_app_main"]
        model = graph.starting(*(f"{prefix}_model_{call}" for call in _MODEL))
        # Who calls through pointers, by name, and what they can mean; the first that fits counts.
        self._declared: tuple[tuple[str, list[Function]], ...] = (
            (f"{prefix}_", graph.starting("td_rpc_on_row")),
            ("td_cobs_", hooks),
            ("td_rpc_", hooks + model),
            ("td_app_main", model),
            ("td_slot", model),
        )
        self._known: dict[int, tuple[int, tuple[str, ...]]] = {}
        self._open: list[Function] = []

    def deepest(self, function: Function) -> tuple[int, tuple[str, ...]]:
        """Bytes from a function's entry to the deepest point below it, and the chain that leads there."""
        known = self._known.get(function.address)
        if known is not None:
            return known
        if function in self._open:
            cycle = [found.name for found in self._open[self._open.index(function) :]]
            raise ToolError(f"the stack has no bound: {' > '.join([*cycle, function.name])} is a recursion")
        self._open.append(function)
        below = max((self.deepest(callee) for callee in self._callees(function)), default=(0, ()))
        self._open.pop()
        found = (self._frame(function) + below[0], (function.name, *below[1]))
        self._known[function.address] = found
        return found

    def _callees(self, function: Function) -> Iterator[Function]:
        yield from (self._graph.functions[target] for target in sorted(function.targets))
        if function.is_indirect:
            for prefix, meant in self._declared:
                if function.name.startswith(prefix):
                    yield from meant
                    return
            raise ToolError(f"{function.name} calls through a pointer, and no one declares what that can be")

    def _frame(self, function: Function) -> int:
        told = self._usage.get(plain_name(function.name))
        if told == _UNKNOWN or (told is None and function.moves_stack):
            raise ToolError(f"the stack has no bound: the frame of {function.name} has no fixed size")
        return max(function.pushed_bytes, told or 0)


def plain_name(name: str) -> str:
    """A function's name as ``.su`` files have it: without the numbers of clones (``f.constprop.0``)."""
    return ".".join(part for part in name.split(".") if not part.isdigit())


def _handlers(graph: CallGraph) -> list[Function]:
    """The functions that the vector table names, without reset and fault; a core's one trap handler."""
    vectors = graph.objects.get(_VECTORS, b"")
    words = struct.unpack(f"<{len(vectors) // 4}I", vectors[: len(vectors) // 4 * 4])
    found = {word & ~1 for word in words[1:]}
    handlers = [graph.functions[address] for address in sorted(found) if address in graph.functions]
    handlers += graph.starting(_TRAP)
    return [handler for handler in handlers if handler.name not in (_FAULT, _RESET)]


def _usage_of_files(paths: Sequence[Path]) -> dict[str, int]:
    """Frames by function name from ``file:line:column:name<TAB>bytes<TAB>static|dynamic[,bounded]``."""
    found: dict[str, int] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            place, size, kind = line.rsplit("\t", 2)
            name = plain_name(place.rsplit(":", 1)[1])
            frame = _UNKNOWN if kind == "dynamic" else int(size)
            known = found.get(name, 0)
            found[name] = _UNKNOWN if _UNKNOWN in (known, frame) else max(known, frame)
    return found


def _usage_of_section(elf: Path, graph: CallGraph) -> dict[str, int]:
    """Frames from ``.stack_sizes`` (LLVM): for each function its address and, as ULEB128, its bytes."""
    with elf.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".stack_sizes")
        data = bytes(section.data()) if section is not None else b""
    found: dict[str, int] = {}
    for match in re.finditer(rb"(?s)(.{4})([\x80-\xff]*[\x00-\x7f])", data):
        address = int.from_bytes(match[1], "little") & ~1
        size = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(match[2]))
        function = graph.functions.get(address)
        if function is not None:
            name = plain_name(function.name)
            found[name] = max(size, found.get(name, 0))
    return found
