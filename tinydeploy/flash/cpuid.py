"""Which core a Cortex-M says it is (CPUID, Armv7-M B3.2.3): the part number that tells a wrong board."""

from __future__ import annotations

# Part numbers in their place in CPUID; Arm's technical reference manuals.
_PARTS: dict[str, int] = {
    "cortex-m0": 0xC200,
    "cortex-m0plus": 0xC600,
    "cortex-m3": 0xC230,
    "cortex-m4": 0xC240,
    "cortex-m7": 0xC270,
    "cortex-m23": 0xD200,
    "cortex-m33": 0xD210,
    "cortex-m55": 0xD220,
    "cortex-m85": 0xD230,
}
_MASK = 0xFFF0


def cpuid_part(cpu: str) -> int | None:
    """The part number of a CPU of the compilers' table; None where it has no CPUID."""
    return _PARTS.get(cpu)


def part_name(cpuid: int) -> str:
    """What a CPUID is called."""
    part = cpuid & _MASK
    names = [cpu for cpu, number in _PARTS.items() if number == part]
    return f"a {names[0]}" if names else f"unknown (CPUID {cpuid:#010x})"
