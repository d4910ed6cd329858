"""Dequantize, compute, quantize becomes exact integer arithmetic: what QDQ and QOperator models mean.

In steps, each a pure function: ``settle`` brings the model's own integer types to the values, ``signed``
shifts uint8 steps to int8, ``raised`` quantizes inputs before they are moved, ``Sweep`` replaces operators
between Dequantize and Quantize. What is left in float32 is what the model does not quantize.
"""

from __future__ import annotations

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Graph
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.passes.integerize.raised import raised
from tinydeploy.passes.integerize.settle import settle
from tinydeploy.passes.integerize.signed import signed
from tinydeploy.passes.integerize.sweep import Sweep
from tinydeploy.passes.remove_unused import remove_unused


def integerize(graph: Graph) -> Graph:
    """The graph with integers wherever the model quantizes both sides of an operator, rounded as ONNX does.

    Graphs without Quantize nodes that round once, or plain integers read as steps, stay as they are.
    """
    if not any(_is_of_onnx(node.attrs) for node in graph.nodes):
        return graph
    graph = raised(signed(remove_unused(settle(graph))))
    return remove_unused(Sweep(graph).run())


def _is_of_onnx(attrs: object) -> bool:
    if isinstance(attrs, Quantize):
        return attrs.rounding is Rounding.HALF_EVEN
    return isinstance(attrs, Reinterpret)


__all__ = ["integerize"]
