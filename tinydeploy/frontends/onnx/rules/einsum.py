"""Einsum as transposes, matrix products, products and sums, two operands at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ir import DType
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.sum import Sum

_DOTS = "0123456789"
"""Labels of the axes that an ellipsis stands for, the last axis first; letters are the model's own."""


@dataclass(frozen=True, slots=True)
class Term:
    """A value and the label of each of its axes, no label twice."""

    ref: Ref
    labels: str


def _einsum(context: Context) -> None:
    operands = [context.input(index) for index in range(context.inputs_given)]
    inputs, output = _parsed(context, operands)
    terms = [_diagonal(context, ref, labels) for ref, labels in zip(operands, inputs, strict=True)]
    result = terms[0]
    for index, term in enumerate(terms[1:], 2):
        kept = set(output).union(*(later.labels for later in terms[index:]))
        result = _contracted(context, result, term, kept)
    result = _summed(context, result, set(output))
    context.set(context.transpose(result.ref, [result.labels.index(label) for label in output]))


def _parsed(context: Context, operands: Sequence[Ref]) -> tuple[list[str], str]:
    """The labels of each operand's axes and of the output's, ellipses spelled out."""
    text = context.str_("equation").replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    word = r"[A-Za-z]*(\.\.\.)?[A-Za-z]*"
    if len(parts) != len(operands) or not all(re.fullmatch(word, part) for part in (*parts, right)):
        raise context.fault(f"equation {text!r} for {len(operands)} inputs")
    most = 0
    inputs: list[str] = []
    for part, ref in zip(parts, operands, strict=True):
        hidden = ref.rank - len(part.replace("...", ""))
        if hidden < 0 or hidden > len(_DOTS) or (hidden and "..." not in part):
            raise context.fault(f"equation {text!r}: {part!r} for {list(ref.shape)}")
        most = max(most, hidden)
        inputs.append(part.replace("...", _DOTS[:hidden][::-1]))
    if arrow:
        output = right.replace("...", _DOTS[:most][::-1])
    else:
        letters = re.sub(r"[^A-Za-z]", "", left)
        output = _DOTS[:most][::-1] + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise context.fault(f"equation {text!r}: the output {right!r}")
    return inputs, output


def _diagonal(context: Context, ref: Ref, labels: str) -> Term:
    """An operand whose repeated labels are one axis: its diagonal."""
    for label in sorted(set(labels)):
        axes = [axis for axis, name in enumerate(labels) if name == label]
        if len(axes) == 1:
            continue
        extent = ref.shape[axes[0]]
        if any(ref.shape[axis] != extent for axis in axes):
            raise context.fault(f"label {label!r} has several extents in {list(ref.shape)}")
        rest = [axis for axis in range(ref.rank) if axis not in axes]
        shape = [ref.shape[axis] for axis in rest]
        flat = context.reshape(context.transpose(ref, [*rest, *axes]), [*shape, extent ** len(axes)])
        step = sum(extent**k for k in range(len(axes)))
        places = tuple(range(0, extent ** len(axes), step))
        ref = context.emit(Gather(len(rest), places, (extent,)), flat, tag=f"diagonal_{label}")
        labels = "".join(labels[axis] for axis in rest) + label
    return Term(ref, labels)


def _summed(context: Context, term: Term, kept: set[str]) -> Term:
    """Without the axes that nobody needs."""
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not axes:
        return term
    labels = "".join(label for label in term.labels if label in kept)
    return Term(context.emit(Sum(axes), term.ref, tag=f"sum_{len(term.labels)}"), labels)


def _without(context: Context, term: Term, labels: set[str]) -> Term:
    """Without axes of extent 1."""
    pairs = [(x, extent) for x, extent in zip(term.labels, term.ref.shape, strict=True) if x not in labels]
    return Term(context.reshape(term.ref, [extent for _, extent in pairs]), "".join(x for x, _ in pairs))


def _extents(term: Term) -> dict[str, int]:
    return dict(zip(term.labels, term.ref.shape, strict=True))


def _contracted(context: Context, a: Term, b: Term, kept: set[str]) -> Term:
    """Two operands as one; labels that are not ``kept`` are summed over."""
    a = _summed(context, a, kept | set(b.labels))
    b = _summed(context, b, kept | set(a.labels))
    left, right = _extents(a), _extents(b)
    shared = left.keys() & right.keys()
    # An extent of 1 repeats, as if the operand did not have the axis.
    a = _without(context, a, {x for x in shared if left[x] == 1 != right[x]})
    b = _without(context, b, {x for x in shared if right[x] == 1 != left[x]})
    both = [x for x in a.labels if x in b.labels]
    for label in both:
        if left[label] != right[label]:
            raise context.fault(f"label {label!r} has the extents {left[label]} and {right[label]}")
    inner = [x for x in both if x not in kept]
    if not inner or a.ref.dtype is not DType.FLOAT32:
        return _summed(context, _multiplied(context, a, b), kept)
    batch = [x for x in both if x in kept]
    first = [batch] if batch else []
    rows = [x for x in a.labels if x not in both]
    columns = [x for x in b.labels if x not in both]
    sizes = {**left, **right, **_extents(a), **_extents(b)}

    def product(labels: Sequence[str]) -> int:
        return math.prod(sizes[x] for x in labels)

    def matrix(term: Term, *groups: list[str]) -> Ref:
        order = [term.labels.index(x) for group in groups for x in group]
        return context.reshape(context.transpose(term.ref, order), [product(group) for group in groups])

    made = context.emit(
        BatchMatMul(), matrix(a, *first, rows, inner), matrix(b, *first, inner, columns), tag="".join(inner)
    )
    labels = [*batch, *rows, *columns]
    return Term(context.reshape(made, [sizes[x] for x in labels]), "".join(labels))


def _multiplied(context: Context, a: Term, b: Term) -> Term:
    """Element by element, each operand repeated along the axes that it lacks."""
    labels = a.labels + "".join(x for x in b.labels if x not in a.labels)
    spread = []
    for term in (a, b):
        places = [labels.index(label) for label in term.labels]
        turned = context.transpose(term.ref, sorted(range(len(places)), key=places.__getitem__))
        extents = _extents(term)
        spread.append(context.reshape(turned, [extents.get(x, 1) for x in labels]))
    return Term(context.emit(Mul(), *spread, tag=f"product_{len(labels)}"), labels)


RULES: dict[str, Rule] = {"Einsum": _einsum}
