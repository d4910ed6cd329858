"""Loop nests: what joins, what broadcasts, what C the formulas become."""

from __future__ import annotations

import pytest

from tinydeploy.kernels.elementwise.c_text import c_text, numbers_of
from tinydeploy.kernels.nest import Loop, broadcast_strides, merged, shape_text, strides_of
from tinydeploy.ops.formula import Chosen, Element, Expr, Formula, Name, Number, Raised, evaluate, scaled


def test_strides() -> None:
    assert strides_of((2, 3, 4)) == (12, 4, 1)
    assert strides_of(()) == ()
    assert broadcast_strides((3, 1), 3) == (0, 1, 0)
    assert shape_text(()) == "1"


def test_even_neighbours_join() -> None:
    dense = [Loop(2, (12, 12)), Loop(3, (4, 4)), Loop(4, (1, 1))]
    assert merged(dense) == (Loop(24, (1, 1)),)
    assert merged([Loop(2, (12, 0)), Loop(3, (4, 0)), Loop(4, (1, 1))]) == (Loop(6, (4, 0)), Loop(4, (1, 1)))
    assert merged([Loop(1, (9, 9))]) == ()


def test_a_table_keeps_its_loop() -> None:
    loops = [Loop(2, (12, 0), "places0"), Loop(1, (4, 0), "places1"), Loop(4, (1, 1))]
    assert merged(loops) == tuple(loops)


A, B = Element(0), Element(1)
ZERO = Number("zero_point", 3)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (A - ZERO, "a - zero_point"),
        (A - (B - ZERO), "a - (b - zero_point)"),
        ((A - ZERO) * B, "(a - zero_point) * b"),
        (Raised(A, 20), "td_shift_left(a, 20)"),
        (scaled(A, "x_", (5, -1)), "td_requantize(a, x_multiplier, x_shift)"),
        (scaled(A, "", (5, 1)), "td_requantize_any(a, multiplier, shift)"),
        (Chosen(A - B, A, B), "(a >= b ? a : b)"),
        (Chosen(A, A, B), "(a >= 0 ? a : b)"),
    ],
)
def test_formulas_become_c(expr: Expr, text: str) -> None:
    assert c_text(expr) == text


def test_each_number_is_an_argument_once() -> None:
    formula = Formula((("x", A - ZERO),), scaled(Name("x"), "", (7, -2)) + ZERO, -128, 127)
    assert [(scalar.role, scalar.value) for scalar in numbers_of(formula)] == [
        ("zero_point", 3),
        ("multiplier", 7),
        ("shift", -2),
    ]


def test_foreign_expressions_are_refused() -> None:
    for function in (c_text, lambda expr: evaluate(Formula((), expr, 0, 0), ())):
        with pytest.raises(TypeError, match="Expr is not an expression of formulas"):
            function(Expr())
