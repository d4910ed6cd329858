"""The demo network and its training: the same bits on every machine.

Matrix products sum in an order that depends on the processor and on the number of threads, and training
would amplify the last bit until the models differ. So every operand is first rounded to a grid so coarse
that all products and sums are exact in float64 (below 2**53 steps); then the order does not matter. What is
left, + - * / and sqrt element by element, has one right result by IEEE 754; the loss's exp has not, and is
rounded to a grid on which libraries agree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tinydeploy.demo.layers import AveragePool, Convolution, Dense, Depthwise, Flatten, Floats, Layer

Labels = npt.NDArray[np.int64]

CLASSES = 10
BATCH = 64

# Bits after the point of activations, of weights and of exp in the loss; relative bits of gradients.
ACTIVATION_BITS = 12
WEIGHT_BITS = 16
EXP_BITS = 24
GRADIENT_BITS = 18


class Network:
    """A chain of layers that ends in one logit per digit."""

    def __init__(self, seed: int) -> None:
        random = np.random.Generator(np.random.PCG64(seed))
        self.layers: tuple[Layer, ...] = (
            Convolution("conv1", (1, 16), 3, random),
            Depthwise("depthwise2", 16, 3, random, stride=2),
            Convolution("pointwise2", (16, 32), 1, random),
            Depthwise("depthwise3", 32, 3, random),
            Convolution("pointwise3", (32, 32), 1, random),
            AveragePool("pool", 2),
            Flatten("flat"),
            Dense("logits", 128, CLASSES, random),
        )

    def parameters(self) -> list[Floats]:
        return [parameter for layer in self.layers for parameter in layer.parameters]

    def gradients(self) -> list[Floats]:
        return [gradient for layer in self.layers for gradient in layer.gradients]

    def set_parameters(self, values: list[Floats]) -> None:
        """Take new parameters, in the order of ``parameters``, rounded to their grid."""
        rest = iter(values)
        for layer in self.layers:
            layer.parameters = [snapped(next(rest), WEIGHT_BITS) for _ in layer.parameters]

    def activations(self, images: Floats) -> Iterator[Floats]:
        """The output of each layer in turn, for images [N, 8, 8, 1] from 0 to 1."""
        data = images
        for layer in self.layers:
            data = snapped(layer.forward(data), ACTIVATION_BITS)
            yield data

    def logits(self, images: Floats) -> Floats:
        *_, last = self.activations(images)
        return last

    def backward(self, gradient: Floats) -> None:
        """Fill the gradients of all layers from that at the logits, for the last images."""
        for layer in reversed(self.layers):
            gradient = layer.backward(relative_snapped(gradient, GRADIENT_BITS))


class Adam:
    """Adam (Kingma and Ba, 2014, algorithm 1) on the unrounded parameters."""

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, parameters: list[Floats]) -> None:
        self.values = [parameter.copy() for parameter in parameters]
        self._mean = [np.zeros_like(parameter) for parameter in parameters]
        self._square = [np.zeros_like(parameter) for parameter in parameters]
        self._decay1 = self._decay2 = 1.0

    def step(self, gradients: list[Floats], rate: float) -> list[Floats]:
        """The parameters after one more step."""
        self._decay1 *= self.BETA1
        self._decay2 *= self.BETA2
        for value, mean, square, gradient in zip(
            self.values, self._mean, self._square, gradients, strict=True
        ):
            mean += (1.0 - self.BETA1) * (gradient - mean)
            square += (1.0 - self.BETA2) * (gradient * gradient - square)
            root = np.sqrt(square / (1.0 - self._decay2)) + self.EPSILON
            value -= rate * (mean / (1.0 - self._decay1)) / root
        return self.values


def snapped(data: Floats, bits: int) -> Floats:
    """The nearest multiples of ``2**-bits``."""
    return np.asarray(np.rint(data * 2.0**bits) * 2.0**-bits)


def relative_snapped(data: Floats, bits: int) -> Floats:
    """``data`` on a grid of ``2**-bits`` of the power of two that bounds it."""
    _, exponent = np.frexp(np.abs(data).max())
    return snapped(data, bits - int(exponent))


def cross_entropy_gradient(logits: Floats, labels: Labels) -> Floats:
    """Gradient of the mean over the batch of ``-log softmax(logits)[label]``."""
    exp = snapped(np.exp(logits - logits.max(axis=1, keepdims=True)), EXP_BITS)
    gradient = exp / exp.sum(axis=1, keepdims=True)
    gradient[np.arange(len(labels)), labels] -= 1.0
    return np.asarray(gradient / len(labels))


@threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]
def train(network: Network, images: Floats, labels: Labels, *, epochs: int, seed: int, rate: float) -> None:
    """Train in place with Adam, the rate falling linearly to 0.

    Every epoch has its own order; a last batch that is not full is left out of it. The matrices are so small
    that threads would only wait for each other, so one does it all.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    optimizer = Adam(network.parameters())
    network.set_parameters(optimizer.values)
    steps = epochs * (len(images) // BATCH)
    step = 0
    for _ in range(epochs):
        order = shuffled(len(images), random)
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            logits = network.logits(images[batch])
            network.backward(cross_entropy_gradient(logits, labels[batch]))
            network.set_parameters(optimizer.step(network.gradients(), rate * (steps - step) / steps))
            step += 1


def shuffled(count: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """A random order of ``range(count)`` that depends on the generator's raw stream only."""
    return np.argsort(random.random(count), kind="stable").astype(np.int64)


def accuracy(network: Network, images: Floats, labels: Labels) -> float:
    """Fraction of images whose largest logit is the label's."""
    return float(np.mean(network.logits(images).argmax(axis=1) == labels))
