"""The float graph and the integer graph on the same samples: where and how much they differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, DType, Graph, Quant
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize.apply import SUFFIX
from tinydeploy.quantize.calibrate import Tell, silent
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.samples import Sample, Samples
from tinydeploy.quantize.scales import real_of, steps_of

PERFECT_DB = 200.0
"""Stands for no noise at all, so that every figure is a number in JSON."""


def ratio_db(signal: float, noise: float) -> float:
    """Signal-to-noise ratio in decibels, within +-``PERFECT_DB``."""
    if noise <= 0.0:
        return PERFECT_DB
    if signal <= 0.0:
        return -PERFECT_DB
    return max(-PERFECT_DB, min(PERFECT_DB, 10.0 * math.log10(signal / noise)))


class Difference:
    """Energies of a tensor and of its error, by channel (the last axis), summed over samples."""

    __slots__ = ("noise", "signal")

    def __init__(self) -> None:
        self.signal: Floats = np.zeros(0)
        self.noise: Floats = np.zeros(0)

    def add(self, real: Array, got: Array) -> None:
        channels = real.shape[-1] if real.ndim > 1 else 1
        wanted = real.astype(np.float64).reshape(-1, channels)
        error = got.astype(np.float64).reshape(-1, channels) - wanted
        if self.signal.size != channels:
            self.signal, self.noise = np.zeros(channels), np.zeros(channels)
        self.signal += (wanted**2).sum(axis=0)
        self.noise += (error**2).sum(axis=0)

    @property
    def sqnr_db(self) -> float:
        return ratio_db(float(self.signal.sum()), float(self.noise.sum()))

    def worst_channel(self) -> tuple[int, float]:
        """The channel with the least ratio among those that carry any signal, and its ratio."""
        ratios = [
            ratio_db(float(s), float(n)) if s > 0 else PERFECT_DB
            for s, n in zip(self.signal, self.noise, strict=True)
        ]
        if not ratios:
            return 0, PERFECT_DB
        worst = int(np.argmin(ratios))
        return worst, ratios[worst]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``tensors`` by value of the float graph. ``agreement`` is the share of samples whose largest output is
    the same, None where the first output is a single number."""

    tensors: Mapping[int, Difference]
    outputs: Difference
    agreement: float | None
    samples: int


class IntegerModel:
    """An integer graph that takes the float graph's samples and gives real numbers."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._interpreter = Interpreter(graph)
        self._by_name = {value.name: index for index, value in enumerate(graph.values)}

    def run(self, sample: Sample) -> dict[int, Array]:
        """The arrays of all values; inputs are quantized as the program's own helper does."""
        self._interpreter.reset()
        held = tuple(
            steps_of(array, type_.quant, type_.dtype) if type_.quant is not None else array
            for array, type_ in zip(sample, map(self.graph.type, self.graph.inputs), strict=True)
        )
        return self._interpreter.run_all(held)

    def outputs(self, arrays: Mapping[int, Array]) -> list[Floats]:
        """The outputs as real numbers."""
        return [self.real(value, arrays) for value in self.graph.outputs]

    def real(self, value: int, arrays: Mapping[int, Array]) -> Floats:
        quant: Quant | None = self.graph.type(value).quant
        array = arrays[value]
        return array.astype(np.float64) if quant is None else real_of(array, quant)

    def same(self, name: str) -> int | None:
        """The value that is the integer form of the float tensor ``name``."""
        found = self._by_name.get(name + SUFFIX)
        return self._by_name.get(name) if found is None else found


def compare(
    real: Graph, whole: Graph, samples: Samples, values: Sequence[int] = (), tell: Tell = silent
) -> Comparison:
    """Run both graphs on every sample; ``values`` are inner tensors of the float graph to compare too."""
    interpreter, model = Interpreter(real), IntegerModel(whole)
    pairs = {value: same for value in values if (same := model.same(real.values[value].name)) is not None}
    tensors = {value: Difference() for value in pairs}
    outputs = Difference()
    same = judged = count = 0
    for index, sample in enumerate(samples):
        interpreter.reset()
        wanted, got = interpreter.run_all(sample), model.run(sample)
        for value, twin in pairs.items():
            if real.type(value).shape == whole.type(twin).shape:
                tensors[value].add(wanted[value], model.real(twin, got))
        reals = [wanted[value] for value in real.outputs]
        answers = model.outputs(got)
        outputs.add(_flat(reals), _flat(answers))
        if real.type(real.outputs[0]).dtype is DType.FLOAT32 and reals[0].size > 1:
            same += int(reals[0].argmax() == answers[0].argmax())
            judged += 1
        count = index + 1
        tell("comparing", count, samples.count)
    return Comparison(tensors, outputs, same / judged if judged else None, count)


def _flat(arrays: Sequence[Array]) -> Array:
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in arrays])
