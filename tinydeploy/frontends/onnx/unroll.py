"""Scan and Loop whose number of steps is known: the body, once per step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from onnx import GraphProto

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context
from tinydeploy.frontends.onnx.scope import Binding, Constant
from tinydeploy.ops.base import MAX_OPERANDS
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.slice import Slice

MAX_STEPS = 1024
_STATIC = "make the model's control flow static before export"

Body = Callable[[int, GraphProto, Sequence[Binding]], "list[Binding] | None"]
"""Imports a body for one step with its inputs; the result is its outputs, None where something is missing."""


def unroll(context: Context, inputs: Sequence[Binding | None], body: Body) -> list[Binding] | None:
    """The outputs of a Scan or Loop; None where its body is not supported. Refuses what depends on data."""
    return _scan(context, inputs, body) if context.op == "Scan" else _loop(context, inputs, body)


def _scan(context: Context, inputs: Sequence[Binding | None], body: Body) -> list[Binding] | None:
    if context.opset < 9:
        context.refuse("Scan of opset 8 works on batches", "export for opset 9 or newer")
    graph, count = context.graph("body"), context.int_("num_scan_inputs")
    given = [value for value in inputs if value is not None]
    if len(given) != len(inputs) or not 0 < count <= len(given) or len(graph.input) != len(given):
        raise context.fault(
            f"{len(given)} inputs, {count} of them scanned, for {len(graph.input)} of the body"
        )
    states, scanned = given[: len(given) - count], given[len(given) - count :]
    makes = len(graph.output) - len(states)
    if makes < 0:
        raise context.fault(f"the body has {len(graph.output)} outputs for {len(states)} states")
    axes = [
        _axis(context, axis, len(_shape(value)))
        for axis, value in zip(_each(context, "scan_input_axes", count), scanned, strict=True)
    ]
    backward = _each(context, "scan_input_directions", count)
    steps = {_shape(value)[axis] for axis, value in zip(axes, scanned, strict=True)}
    if len(steps) != 1:
        raise context.fault(f"the scanned inputs have {sorted(steps)} steps")
    total = steps.pop()
    _check(context, total)
    collected: list[list[Binding]] = [[] for _ in range(makes)]
    for step in range(total):
        elements = [
            _element(context, value, axis, total - 1 - step if back else step)
            for value, axis, back in zip(scanned, axes, backward, strict=True)
        ]
        outputs = body(step, graph, [*states, *elements])
        if outputs is None:
            return None
        states = outputs[: len(states)]
        for kept, made in zip(collected, outputs[len(states) :], strict=True):
            kept.append(made)
    turned = _each(context, "scan_output_directions", makes)
    places = _each(context, "scan_output_axes", makes)
    joined = [
        _stacked(context, kept[::-1] if back else kept, axis)
        for kept, axis, back in zip(collected, places, turned, strict=True)
    ]
    return [*states, *joined]


def _loop(context: Context, inputs: Sequence[Binding | None], body: Body) -> list[Binding] | None:
    graph = context.graph("body")
    bound, condition, *rest = (*inputs, None, None) if len(inputs) < 2 else inputs
    states = [value for value in rest if value is not None]
    makes = len(graph.output) - 1 - len(states)
    if len(graph.input) != len(states) + 2 or makes < 0:
        raise context.fault(f"the body takes {len(graph.input)} inputs and makes {len(graph.output)} outputs")
    limit = MAX_STEPS + 1 if bound is None else _number(context, bound, "the number of steps")
    goes_on = condition is None or bool(_number(context, condition, "the condition"))
    if bound is not None:
        _check(context, limit)
    collected: list[list[Binding]] = [[] for _ in range(makes)]
    step = 0
    while goes_on and step < limit:
        _check(context, step)
        counter, true = Constant("step", np.array(step)), Constant("condition", np.array(True))
        outputs = body(step, graph, [counter, true, *states])
        if outputs is None:
            return None
        goes_on = bool(_number(context, outputs[0], "the condition"))
        states = outputs[1 : 1 + len(states)]
        for kept, made in zip(collected, outputs[1 + len(states) :], strict=True):
            kept.append(made)
        step += 1
    if collected and not step:
        context.refuse("it makes no step, and its results have no elements", "remove it from the model")
    return [*states, *(_stacked(context, kept, 0) for kept in collected)]


def _check(context: Context, steps: int) -> None:
    if steps > MAX_STEPS:
        context.refuse(f"it makes {steps} steps; up to {MAX_STEPS} are unrolled", _STATIC)


def _number(context: Context, value: Binding, what: str) -> int:
    if not isinstance(value, Constant):
        context.refuse(f"{what} is computed from the model's inputs", _STATIC)
    if value.array.size != 1:
        raise context.fault(f"{what} has {value.array.size} elements")
    return int(value.array.reshape(())[()])


def _each(context: Context, name: str, count: int) -> tuple[int, ...]:
    values = context.ints(name, (0,) * count)
    if len(values) != count:
        raise context.fault(f"{name} has {len(values)} numbers; {count} are needed")
    return values


def _shape(value: Binding) -> tuple[int, ...]:
    return value.shape if isinstance(value, Ref) else value.array.shape


def _axis(context: Context, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise context.fault(f"axis {axis} of {rank} dimensions")
    return axis % rank


def _element(context: Context, value: Binding, axis: int, step: int) -> Binding:
    """What a scanned input holds for one step."""
    if isinstance(value, Constant):
        return Constant(value.name, value.array.take(step, axis=axis))
    begin = tuple(step if index == axis else 0 for index in range(value.rank))
    size = tuple(1 if index == axis else extent for index, extent in enumerate(value.shape))
    part = context.emit(Slice(begin, size, (1,) * value.rank), value, like=value.type.quant, tag=f"in{step}")
    return context.reshape(part, (*value.shape[:axis], *value.shape[axis + 1 :]))


def _stacked(context: Context, parts: Sequence[Binding], axis: int) -> Binding:
    """What the steps made, along a new axis."""
    shape = _shape(parts[0])
    axis = _axis(context, axis, len(shape) + 1)
    wide = (*shape[:axis], 1, *shape[axis:])
    if any(math.prod(_shape(part)) != math.prod(shape) for part in parts):
        raise context.fault("the steps make results of several shapes")
    if all(isinstance(part, Constant) for part in parts):
        arrays = [part.array.reshape(wide) for part in parts if isinstance(part, Constant)]
        return Constant(context.name, np.concatenate(arrays, axis=axis))
    refs = [
        context.reshape(part if isinstance(part, Ref) else context.literal(part.array), wide)
        for part in parts
    ]
    while len(refs) > 1:
        groups = [refs[start : start + MAX_OPERANDS] for start in range(0, len(refs), MAX_OPERANDS)]
        refs = [
            context.emit(Concatenation(axis), *group, like=group[0].type.quant, tag="steps")
            if len(group) > 1
            else group[0]
            for group in groups
        ]
    return refs[0]
