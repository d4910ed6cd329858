"""The hand-written gradients against finite differences, and the grids that make training exact."""

from __future__ import annotations

import numpy as np
import pytest

from tinydeploy.demo.layers import AveragePool, Convolution, Dense, Depthwise, Flatten, Floats, Layer
from tinydeploy.demo.network import (
    ACTIVATION_BITS,
    BATCH,
    GRADIENT_BITS,
    WEIGHT_BITS,
    Adam,
    Network,
    accuracy,
    cross_entropy_gradient,
    relative_snapped,
    shuffled,
    snapped,
    train,
)

STEP = 1e-6


def generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(5))


LAYERS: dict[str, tuple[Layer, tuple[int, ...]]] = {
    "convolution": (Convolution("c", (2, 3), 3, generator()), (2, 4, 5, 2)),
    "convolution, stride 2, no relu": (
        Convolution("c", (2, 3), 3, generator(), stride=2, relu=False),
        (2, 4, 5, 2),
    ),
    "pointwise": (Convolution("p", (3, 2), 1, generator()), (2, 3, 3, 3)),
    "depthwise": (Depthwise("d", 3, 3, generator()), (2, 4, 4, 3)),
    "depthwise, stride 2": (Depthwise("d", 2, 3, generator(), stride=2), (2, 4, 5, 2)),
    "average pool": (AveragePool("a", 2), (2, 4, 4, 3)),
    "flatten": (Flatten("f"), (2, 2, 3, 2)),
    "dense": (Dense("l", 4, 3, generator()), (5, 4)),
}


@pytest.mark.parametrize("case", LAYERS)
def test_gradients_are_those_of_finite_differences(case: str) -> None:
    layer, shape = LAYERS[case]
    random = generator()
    data = random.standard_normal(shape)
    direction = random.standard_normal(layer.forward(data).shape)

    def loss() -> float:
        return float((layer.forward(data) * direction).sum())

    def by_differences(array: Floats) -> Floats:
        result = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + STEP
            above = loss()
            array[index] = kept - STEP
            result[index] = (above - loss()) / (2 * STEP)
            array[index] = kept
        return result

    loss()
    at_input = layer.backward(direction)
    np.testing.assert_allclose(at_input, by_differences(data), atol=1e-7)
    for parameter, gradient in zip(layer.parameters, layer.gradients, strict=True):
        np.testing.assert_allclose(gradient, by_differences(parameter), atol=1e-7)


def test_a_convolution_is_the_sum_of_products_under_same_padding() -> None:
    layer = Convolution("c", (1, 1), 3, generator(), relu=False)
    image = np.zeros((1, 3, 3, 1))
    image[0, 0, 0, 0] = 2.0
    result = layer.forward(image)
    weights = layer.parameters[0][0, :, :, 0]
    np.testing.assert_array_equal(result[0, :2, :2, 0], 2.0 * weights[1::-1, 1::-1])
    assert not result[0, 2].any()


def test_the_loss_gradient_is_that_of_finite_differences() -> None:
    random = generator()
    logits, labels = random.standard_normal((3, 10)), np.array([1, 0, 9])

    def loss() -> float:
        exp = np.exp(logits)
        return float(-np.log(exp[range(3), labels] / exp.sum(axis=1)).mean())

    gradient = cross_entropy_gradient(logits, labels)
    for index in np.ndindex(logits.shape):
        logits[index] += STEP
        above = loss()
        logits[index] -= 2 * STEP
        assert gradient[index] == pytest.approx((above - loss()) / (2 * STEP), abs=1e-6)
        logits[index] += STEP


def test_snapping_keeps_the_asked_bits() -> None:
    data = np.array([0.3, -0.3, 5.0])
    assert snapped(data, 2).tolist() == [0.25, -0.25, 5.0]
    assert relative_snapped(data, 3).tolist() == [0.0, 0.0, 5.0]
    assert relative_snapped(np.zeros(2), 8).tolist() == [0.0, 0.0]


def test_sums_of_the_demo_training_are_exact_in_any_order() -> None:
    """Largest sums in steps of their grids, for activations below 2**7 and weights below 2**3."""
    pixels, fan_in = BATCH * 8 * 8, 3 * 3 * 32
    activation, weight = 2 ** (ACTIVATION_BITS + 7), 2 ** (WEIGHT_BITS + 3)
    assert activation * weight * fan_in < 2**53
    assert 2**GRADIENT_BITS * weight * fan_in < 2**53
    assert activation * 2**GRADIENT_BITS * pixels < 2**53


def test_adam_walks_downhill_at_the_rate_first() -> None:
    optimizer = Adam([np.array([1.0, -1.0])])
    (value,) = optimizer.step([np.array([0.5, -3.0])], 0.01)
    np.testing.assert_allclose(value, [0.99, -0.99], atol=1e-7)


def test_shuffled_is_an_order_of_all() -> None:
    order = shuffled(50, generator())
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() == shuffled(50, generator()).tolist()


def test_training_learns_and_repeats_itself() -> None:
    labels = np.arange(BATCH, dtype=np.int64) % 2
    images = np.zeros((BATCH, 8, 8, 1))
    images[labels == 1, 2:6, 2:6] = 1.0
    runs = [Network(3), Network(3)]
    for network in runs:
        train(network, images, labels, epochs=60, seed=4, rate=0.01)
    assert accuracy(runs[0], images, labels) == 1.0
    for first, second in zip(runs[0].parameters(), runs[1].parameters(), strict=True):
        np.testing.assert_array_equal(first, second)
