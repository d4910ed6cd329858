"""How each TFLite operator becomes some of ours: one rule per operator, by family, and the table of them."""

from __future__ import annotations

from tinydeploy.frontends.tflite.rules import (
    elementwise,
    indices,
    matrices,
    moves,
    plain,
    recurrent,
    reductions,
    slices,
    stacks,
    windows,
)
from tinydeploy.frontends.tflite.rules.shared import Rule

RULES: dict[str, Rule] = {
    name: rule
    for family in (
        elementwise,
        indices,
        matrices,
        moves,
        plain,
        recurrent,
        reductions,
        slices,
        stacks,
        windows,
    )
    for name, rule in family.RULES.items()
}

__all__ = ["RULES", "Rule"]
