"""What every operator gets for free from its entry in ``cases``: shapes, bits, costs, messages."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import CASES
from tests.ops.making import Broken
from tinydeploy.errors import GraphError
from tinydeploy.ir import Rewriter, TensorType
from tinydeploy.ops import ATTRS, OPS, AnySite, check
from tinydeploy.ops.base import MAX_OPERANDS

LIMITS = [
    pytest.param(name, broken, id=f"{name}-{broken.doc[:24]}-{number}")
    for name, case in CASES.items()
    for number, broken in enumerate(case.broken)
]
IMPOSSIBLE = [(name, site) for name, case in CASES.items() for site in case.impossible]


def test_every_operator_has_a_case() -> None:
    assert CASES.keys() == OPS.keys() == ATTRS.keys()


@pytest.mark.parametrize("name", OPS)
def test_shapes_bits_and_costs(name: str) -> None:
    case, operator = CASES[name], OPS[name]
    assert operator.name == name
    assert operator.doc
    assert check.gaps(case.site) == ()
    check.check_operands(case.site, "n")
    for inferred, output in zip(operator.infer(case.site), case.site.outputs, strict=True):
        assert (inferred.dtype, inferred.shape) == (output.dtype, output.shape)
    data = iter(case.data)
    arrays = tuple(next(data) if constant is None else constant for constant in case.site.constants)
    results = operator.reference(case.site, arrays)
    wanted = (case.result, *case.more)
    for result, expected, output in zip(results, wanted, case.site.outputs, strict=True):
        assert result.dtype == output.dtype.numpy
        np.testing.assert_array_equal(result, expected)
    assert operator.macs(case.site) == case.macs


@pytest.mark.parametrize(("name", "broken"), LIMITS)
def test_limits_of_support_are_named(name: str, broken: Broken) -> None:
    (gap, *_) = [gap for gap in check.gaps(broken.site) if gap.reason.startswith(f"needed: {broken.doc}")]
    assert (gap.node, gap.op) == ("n", name)
    assert broken.got in gap.reason.split("; got ")[1]
    assert gap.remedy


@pytest.mark.parametrize("name", OPS)
def test_every_limit_has_a_broken_case(name: str) -> None:
    for constraint in OPS[name].constraints:
        assert any(constraint.doc.startswith(broken.doc) for broken in CASES[name].broken), constraint.doc


@pytest.mark.parametrize(("name", "site"), IMPOSSIBLE)
def test_shapes_that_an_operator_cannot_take(name: str, site: AnySite) -> None:
    with pytest.raises(
        GraphError, match=r"\(" + name + r"\): the operator cannot take inputs of the shapes \["
    ):
        verify_alone(site)


@pytest.mark.parametrize("name", OPS)
def test_operands_are_counted(name: str) -> None:
    sound = CASES[name].site
    operator = OPS[name]
    too_many = (*sound.inputs, *[sound.inputs[0]] * MAX_OPERANDS)
    for inputs in ((), (None, *sound.inputs[1:]), too_many):
        site = type(sound)("n", sound.attrs, inputs, sound.outputs, (None,) * len(inputs))
        with pytest.raises(
            GraphError,
            match=f"n: needs the inputs {', '.join(operator.roles)}".replace("?", r"\?").replace("*", r"\*"),
        ):
            check.check_operands(site, "n")


def verify_alone(site: AnySite) -> None:
    """Verify a graph of one node whose operands are all inputs."""
    edit = Rewriter.empty("alone")
    inputs = tuple(None if type_ is None else edit.input("x", type_) for type_ in site.inputs)
    outputs: tuple[tuple[str, TensorType], ...] = tuple(("y", type_) for type_ in site.outputs)
    for value in edit.node(site.name, site.attrs, inputs, outputs):
        edit.output(value)
    check.verify(edit.freeze())
