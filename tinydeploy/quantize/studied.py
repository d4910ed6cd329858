"""What the steps of a quantization hand on: the prepared graph, what the samples showed, a built model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tinydeploy.ir import Graph
from tinydeploy.quantize.interface import Adapted
from tinydeploy.quantize.moments import Moments
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.samples import Port, Samples, ports_of
from tinydeploy.quantize.scheme import Steps
from tinydeploy.quantize.weights import Integers, Layer


@dataclass(frozen=True, slots=True)
class Prepared:
    """A float graph ready for calibration, and what its samples go through."""

    graph: Graph
    adapted: Adapted

    @property
    def ports(self) -> tuple[Port, ...]:
        return ports_of(self.graph)


@dataclass(frozen=True, slots=True)
class Precision:
    """What each layer gets: nodes with 4-bit weights, and values with int16 activations."""

    narrow: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Studied:
    """Everything that was measured on the samples, from which any precision can be made."""

    prepared: Prepared
    samples: Samples
    observers: Mapping[int, Observer]
    moments: Mapping[int, Moments]
    layers: Mapping[int, Layer]


@dataclass(frozen=True, slots=True)
class Built:
    """A model of one precision."""

    steps: Mapping[int, Steps]
    integers: Mapping[int, Integers]
    graph: Graph
    integer: Graph
