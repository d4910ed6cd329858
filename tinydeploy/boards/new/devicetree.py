"""A devicetree as a Zephyr build leaves it (``build/zephyr/zephyr.dts``): memories, core, console, pins."""

from __future__ import annotations

import re
from pathlib import Path

from tinydeploy.boards.model import Kind, Pin
from tinydeploy.boards.new.dts import Node, Tree, parse_dts
from tinydeploy.boards.new.facts import Controller, Facts, Memory, SerialLine
from tinydeploy.boards.new.known import known

FORM = "devicetree"
_RAMS = ("mmio-sram", "arm,dtcm", "arm,itcm", "st,stm32-ccm")
# Memory outside the chip on Arm's memory map (Armv7-M manual, B3.1): its controller wants to be set up.
_EXTERNAL = range(0x6000_0000, 0xA000_0000)
_ISA = re.compile(r"rv32([a-z]*)")
# A pin in ``pinmux`` (Zephyr, stm32-pinctrl.h): the mode in bits 0 to 4, the pin 5 to 8, the port 9 to 13.
_PINMUX_CONTROLLER = "st,stm32-pinctrl"
_ALTERNATES = 16


def read_devicetree(path: Path, text: str) -> Facts:
    """The facts of a tree. Raises TinyDeployError with file and line where it is none, or tells no memory."""
    tree = parse_dts(path, text)
    chosen = tree.root.children.get("chosen")
    cpu_node = next((node for node in tree.root if node.name.partition("@")[0] == "cpu"), None)
    soc = tree.root.children.get("soc")
    root_names, soc_names = tree.root.strings("compatible"), soc.strings("compatible") if soc else ()
    flash, ram = _chosen(tree, chosen, "zephyr,flash"), _chosen(tree, chosen, "zephyr,sram")
    cpu = _cpu(cpu_node)
    memories, notes = _memories(tree, flash, ram, is_arm=cpu.startswith("cortex"))
    console = _chosen(tree, chosen, "zephyr,console") or _chosen(tree, chosen, "zephyr,shell-uart")
    console = console or _chosen(tree, chosen, "stdout-path")
    partition = _chosen(tree, chosen, "zephyr,code-partition")
    if partition is not None and partition.number("reg"):
        notes.append(
            f"the devicetree puts code {partition.number('reg'):#x} bytes behind the start of flash: "
            "a boot loader may be before it, which an image at the start of flash replaces"
        )
    return Facts(
        path=path,
        form=FORM,
        title=next(iter(tree.root.strings("model")), ""),
        ids=tuple(name.partition(",")[2] or name for name in root_names),
        parts=tuple(
            name.partition(",")[2] for name in (*soc_names, *root_names) if "," in name and "bus" not in name
        ),
        cpu=cpu,
        core_hz=_core_hz(tree, cpu_node),
        external_hz=_external_hz(tree),
        memories=tuple(memories),
        code=flash.label if flash else "",
        data=ram.label if ram else "",
        serial=_serial(tree, console) if console else None,
        interrupts=_interrupts(tree),
        controller=_controller(tree),
        notes=tuple(notes),
    )


def _chosen(tree: Tree, chosen: Node | None, key: str) -> Node | None:
    values = chosen.values.get(key, ()) if chosen else ()
    return tree.follow(values[0]) if values else None


def _cpu(node: Node | None) -> str:
    """Our key of the core; "" for one that we do not know."""
    if node is None:
        return ""
    for name in node.strings("compatible"):
        if name in known().cores:
            return known().cores[name]
    isa = _ISA.match(
        next(iter(node.strings("riscv,isa")), "") or next(iter(node.strings("riscv,isa-base")), "")
    )
    extensions = set(isa[1]) | set(node.strings("riscv,isa-extensions")) if isa else set()
    integers = {"i", "m", "c"} <= extensions or {"g", "c"} <= extensions
    return "rv32imc" if integers else ""


def _core_hz(tree: Tree, cpu: Node | None) -> int:
    """The core's clock: its own property, or that of the node labelled ``rcc`` or ``sysclk``."""
    own = cpu.number("clock-frequency") if cpu else 0
    named = [tree.labels[label] for label in ("rcc", "sysclk") if label in tree.labels]
    return own or next(
        (node.number("clock-frequency") for node in named if node.number("clock-frequency")), 0
    )


def _external_hz(tree: Tree) -> int:
    node = tree.labels.get("clk_hse")
    return node.number("clock-frequency") if node is not None and node.is_enabled else 0


def _memories(
    tree: Tree, flash: Node | None, ram: Node | None, *, is_arm: bool
) -> tuple[list[Memory], list[str]]:
    found: list[Memory] = []
    notes: list[str] = []
    for node in tree.root:
        is_ram = node.strings("device_type") == ("memory",) or bool(
            set(_RAMS) & set(node.strings("compatible"))
        )
        if node is not flash and node is not ram and not (is_ram and node.is_enabled):
            continue
        at = address_of(tree, node)
        if at is None or not at[1]:
            if node is flash:
                notes.append(f"{node.label} has no address: it is not in the core's address space")
            continue
        kind = Kind.FLASH if node is flash else Kind.RAM
        if is_arm and node is not ram and kind is Kind.RAM and at[0] in _EXTERNAL:
            notes.append(f"{node.label} at {at[0]:#x} is outside the chip and left out")
            continue
        found.append(Memory(node.label, kind, at[1], at[0]))
    unique: list[Memory] = []
    for memory in sorted(found, key=lambda memory: (memory.origin or 0, -memory.size)):
        if unique and (unique[-1].end or 0) > (memory.origin or 0):
            notes.append(f"{memory.name} overlaps {unique[-1].name} and is left out")
        else:
            unique.append(memory)
    return unique, notes


def address_of(tree: Tree, node: Node) -> tuple[int, int] | None:
    """Address and size of a node's first ``reg``, in the root's address space; None where it has none."""
    parent = node.parent
    cells = node.numbers("reg")
    if parent is None or not cells:
        return None
    wide, size_wide = parent.number("#address-cells", 2), parent.number("#size-cells", 1)
    if len(cells) < wide + size_wide:
        raise tree.error(
            node, f"reg of {node.name} has {len(cells)} cells, its parent asks for {wide} and {size_wide}"
        )
    address, size = _joined(cells[:wide]), _joined(cells[wide : wide + size_wide])
    while parent is not None and parent.parent is not None:
        address = _translate(tree, parent, address)
        parent = parent.parent
    return address, size


def _translate(tree: Tree, bus: Node, address: int) -> int:
    """An address on a bus as its parent sees it; without ranges, or outside of them, they are the same."""
    ranges = bus.numbers("ranges")
    assert bus.parent is not None
    child, outer = bus.number("#address-cells", 2), bus.parent.number("#address-cells", 2)
    step = child + outer + bus.number("#size-cells", 1)
    if step == 0 or len(ranges) % step:
        raise tree.error(bus, f"ranges of {bus.name} is not a multiple of {step} cells")
    for at in range(0, len(ranges), step):
        start = _joined(ranges[at : at + child])
        size = _joined(ranges[at + child + outer : at + step])
        if start <= address < start + size:
            return address - start + _joined(ranges[at + child : at + child + outer])
    return address


def _joined(cells: tuple[int, ...]) -> int:
    value = 0
    for cell in cells:
        value = value << 32 | cell
    return value


def _serial(tree: Tree, node: Node) -> SerialLine | None:
    at = address_of(tree, node)
    if at is None:
        return None
    compatible = node.strings("compatible")
    clock = tree.follow(node.values["clocks"][0]) if node.values.get("clocks") else None
    clock_hz = node.number("clock-frequency")
    if not clock_hz and clock is not None and "fixed-clock" in clock.strings("compatible"):
        clock_hz = clock.number("clock-frequency")
    interrupts = node.numbers("interrupts")
    return SerialLine(
        label=node.label,
        compatible=next(iter(compatible), ""),
        base=at[0],
        irq=interrupts[0] if interrupts else None,
        baud=node.number("current-speed", 115_200),
        driver=next((known().uarts[name] for name in compatible if name in known().uarts), ""),
        clock_hz=clock_hz,
        pins=_pins(tree, node),
    )


def _pins(tree: Tree, node: Node) -> tuple[Pin, ...]:
    """The pins of a device's default state, where their encoding is known; ports as the tree calls them."""
    ports = [
        next((label for label in child.labels if label.startswith("gpio")), "")
        for controller in tree.root
        if _PINMUX_CONTROLLER in controller.strings("compatible")
        for child in controller.children.values()
    ]
    found = []
    for value in node.cells("pinctrl-0"):
        state = tree.follow((value,))
        for each in state or ():
            for code in each.numbers("pinmux"):
                port = f"gpio{chr(ord('a') + (code >> 9 & 0x1F))}"
                if port in ports and code & 0x1F < _ALTERNATES:
                    found.append(Pin(port, code >> 5 & 0xF, code & 0x1F))
    return tuple(found)


def _interrupts(tree: Tree) -> int:
    """Enough vectors for every device of the tree."""
    numbers = [
        node.number("interrupts")
        for node in tree.root
        if node.numbers("interrupts") and node.name.partition("@")[0] not in ("cpu", "timer", "systick")
    ]
    ndev = max((node.number("riscv,ndev") for node in tree.root), default=0)
    return ndev + 1 if ndev else max(numbers, default=-1) + 1


def _controller(tree: Tree) -> Controller | None:
    for node in tree.root:
        for name in node.strings("compatible"):
            at = address_of(tree, node) if name in known().controllers else None
            if at is not None:
                return Controller(known().controllers[name], at[0], node.number("riscv,ndev"))
    return None
