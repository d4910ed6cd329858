"""The operators: one file each, this table, and what can be done with all of them."""

from __future__ import annotations

from tinydeploy.ops import (
    add,
    average_pool_2d,
    conv_2d,
    depthwise_conv_2d,
    fully_connected,
    reshape,
    softmax,
)
from tinydeploy.ops.base import AnyConstraint, AnyOperator, AnySite, Constraint, Operator, Site, site_of

OPS: dict[str, AnyOperator] = {
    operator.name: operator
    for operator in (
        add.OP,
        average_pool_2d.OP,
        conv_2d.OP,
        depthwise_conv_2d.OP,
        fully_connected.OP,
        reshape.OP,
        softmax.OP,
    )
}

ATTRS = {name: operator.attrs for name, operator in OPS.items()}
"""What ``ir.from_text`` needs to read every operator."""

__all__ = [
    "ATTRS",
    "OPS",
    "AnyConstraint",
    "AnyOperator",
    "AnySite",
    "Constraint",
    "Operator",
    "Site",
    "site_of",
]
