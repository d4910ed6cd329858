"""Histograms, extremes and the ranges that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from tinydeploy.ir import DType
from tinydeploy.quantize.histogram import CENTRES, WIDTHS, Histogram
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.ranges import Method, choose_range
from tinydeploy.quantize.scales import activation_quant


def observed(samples: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> Observer:
    observer = Observer()
    for index, sample in enumerate(samples):
        observer.add(sample, index)
    return observer


def normal(count: int, size: int = 1000) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    random = np.random.default_rng(5)
    return [random.standard_normal(size).astype(np.float32) for _ in range(count)]


def test_every_number_lies_in_its_bin() -> None:
    numbers = np.array([0.0, 1.0, -1.0, 3.7, -1e-9, 1e9, 6.0, -0.3], np.float32)
    for number in numbers:
        histogram = Histogram()
        histogram.add(np.array([number]))
        (index,) = np.flatnonzero(histogram.counts)
        assert abs(CENTRES[index] - number) <= WIDTHS[index] / 2 * 1.001


def test_bins_are_finer_than_two_percent() -> None:
    half = len(CENTRES) // 2
    assert (WIDTHS[half + 1 :] / CENTRES[half + 1 :]).max() < 0.016


def test_counts_do_not_depend_on_order_or_batches() -> None:
    together, apart = Histogram(), Histogram()
    samples = normal(8)
    together.add(np.stack(samples))
    for sample in reversed(samples):
        apart.add(sample)
    np.testing.assert_array_equal(together.counts, apart.counts)


def test_quantiles_and_what_lies_outside() -> None:
    histogram = Histogram()
    histogram.add(np.arange(1, 101, dtype=np.float32))
    assert histogram.quantile(0.5) == pytest.approx(50, rel=0.02)
    assert histogram.quantile(1.0) == pytest.approx(100, rel=0.02)
    assert histogram.outside(0, 50.5) == pytest.approx(50, abs=1)
    assert Histogram().quantile(0.5) == 0.0


def test_a_number_on_the_limit_is_not_outside() -> None:
    histogram = Histogram()
    histogram.add(np.full(10, 6.0, np.float32))
    assert histogram.outside(0.0, 6.0) == 0


def test_the_sample_that_sets_the_extreme_is_known() -> None:
    samples = normal(20)
    samples[7][3] = -40.0
    observer = observed(samples)
    assert observer.low == -40.0
    assert observer.below.most.sample == 7
    ((value, sample),) = ((o.value, o.sample) for o in observer.outliers())
    assert (value, sample) == (-40.0, 7)


def test_few_samples_still_show_an_outlier() -> None:
    samples = normal(4)
    samples[2][0] = 1000.0
    assert [o.sample for o in observed(samples).outliers()] == [2]
    assert not observed(normal(4)).outliers()


@pytest.mark.parametrize("method", list(Method))
def test_ranges_lie_within_what_was_seen_and_hold_zero(method: Method) -> None:
    observer = observed([np.abs(sample) + 1 for sample in normal(10)])
    low, high = choose_range(method, observer, DType.INT8)
    assert low == 0.0
    assert 2.0 < high <= observer.high * 1.001


@pytest.mark.parametrize("method", [Method.ROBUST, Method.PERCENTILE])
def test_robust_methods_leave_an_outlier_out(method: Method) -> None:
    samples = normal(200)
    samples[77][0] = 1000.0
    low, high = choose_range(method, observed(samples), DType.INT8)
    assert -6 < low < -2.5
    assert 2.5 < high < 6


def test_minmax_keeps_it() -> None:
    samples = normal(50)
    samples[7][0] = 1000.0
    assert choose_range(Method.MINMAX, observed(samples), DType.INT8)[1] == 1000.0


def test_a_tensor_of_zeros_has_a_range() -> None:
    observer = observed([np.zeros(4, np.float32)] * 3)
    for method in Method:
        assert choose_range(method, observer, DType.INT8) == (0.0, 0.0)
    assert activation_quant(0.0, 0.0, DType.INT8).scale == 1.0


@pytest.mark.parametrize(
    ("low", "high", "dtype", "zero_point"),
    [
        (0.0, 1.0, DType.INT8, -128),
        (-1.0, 0.0, DType.INT8, 127),
        (-1.0, 3.0, DType.INT8, -64),
        (0.0, 1.0, DType.UINT8, 0),
        (-1.0, 3.0, DType.INT16, 0),
    ],
)
def test_scales_hold_zero_exactly(low: float, high: float, dtype: DType, zero_point: int) -> None:
    assert activation_quant(low, high, dtype).zero_point == zero_point
