"""What a core can do: frozen feature sets that schedules ask for. No chip, no board."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tinydeploy.errors import TinyDeployError


class Feature(Enum):
    """An instruction set extension that schedules use."""

    DSP = "dsp"
    MVE = "mve"
    FPU = "fpu"


@dataclass(frozen=True, slots=True)
class Target:
    """A core as the scheduler sees it."""

    core: str
    features: frozenset[Feature] = frozenset()

    def has(self, feature: Feature) -> bool:
        return feature in self.features


TARGETS = {
    target.core: target
    for target in (
        Target("host"),
        Target("cortex-m0"),
        Target("cortex-m0plus"),
        Target("cortex-m3"),
        Target("cortex-m4", frozenset({Feature.DSP, Feature.FPU})),
        Target("cortex-m7", frozenset({Feature.DSP, Feature.FPU})),
        Target("cortex-m33", frozenset({Feature.DSP, Feature.FPU})),
        Target("cortex-m55", frozenset({Feature.DSP, Feature.MVE, Feature.FPU})),
        Target("cortex-m85", frozenset({Feature.DSP, Feature.MVE, Feature.FPU})),
        Target("rv32imc"),
        Target("xtensa-lx6"),
        Target("xtensa-lx7"),
        Target("avr"),
    )
}


def target_of(core: str) -> Target:
    """The target named ``core``; raises TinyDeployError that lists the known ones."""
    if core not in TARGETS:
        raise TinyDeployError(f"core {core!r} is not known", fix=f"Known cores: {', '.join(TARGETS)}")
    return TARGETS[core]
