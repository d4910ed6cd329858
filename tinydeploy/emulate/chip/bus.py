"""The chip's peripheral bus: which block model answers at which address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tinydeploy.boards import Block, Chip
from tinydeploy.emulate.blocks import MODELS, Model, Wires
from tinydeploy.errors import ToolError

PAGE = 0x1000
ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True, slots=True)
class Slot:
    base: int
    model: Model


class Bus:
    """The models of a chip's blocks, by name and by address.

    ``stuck_low``: bits per register address that always read as 0, to see what firmware does when hardware
    fails. A page that holds no block does not exist: an access faults.
    """

    def __init__(self, chip: Chip, wires: Callable[[str], Wires], stuck_low: Mapping[int, int]) -> None:
        self._stuck_low = stuck_low
        self.models: dict[str, Model] = {}
        self._slots: list[Slot] = []
        for block in chip.blocks:
            if block.type not in MODELS:
                raise ToolError(
                    f"there is no emulator model for IP blocks of type {block.type!r} ({block.name}). "
                    f"Models: {', '.join(sorted(MODELS))}",
                    where=f"chip {chip.name}",
                )
            model = MODELS[block.type](block, wires(block.name))
            self.models[block.name] = model
            self._slots.append(Slot(block.base, model))
        self._chip = chip
        self._wires = wires

    def replace(self, name: str, make: Callable[[Block, Wires], ModelT]) -> ModelT:
        """Put another model in a block's place, one that does more than firmware needs; returns it."""
        block = self._chip.block(name)
        model = make(block, self._wires(name))
        index = next(index for index, slot in enumerate(self._slots) if slot.model is self.models[name])
        self._slots[index] = Slot(block.base, model)
        self.models[name] = model
        return model

    def pages(self) -> list[int]:
        """The addresses of the pages that hold blocks."""
        found: set[int] = set()
        for slot in self._slots:
            found |= set(range(slot.base & -PAGE, slot.base + slot.model.size_bytes, PAGE))
        return sorted(found)

    def read(self, address: int, size: int) -> int:
        """Unused parts of a page read as 0."""
        slot = self._slot(address)
        if slot is None:
            return 0
        word = slot.model.read((address - slot.base) & ~3) & ~self._stuck_low.get(address & ~3, 0)
        return word >> 8 * (address & 3) & (1 << 8 * size) - 1

    def write(self, address: int, size: int, value: int) -> None:
        slot = self._slot(address)
        if slot is not None:
            slot.model.write(address - slot.base, size, value)

    def reset(self) -> None:
        for model in self.models.values():
            model.reset()

    def _slot(self, address: int) -> Slot | None:
        for slot in self._slots:
            if slot.base <= address < slot.base + slot.model.size_bytes:
                return slot
        return None
