"""Runs the float graph on every sample and remembers the distribution of its tensors; memory is constant."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.samples import Samples

Tell = Callable[[str, int, int | None], None]
"""Progress: what is being done, how many samples are done, of how many if that is known."""


def silent(_stage: str, _done: int, _total: int | None) -> None:
    """No progress."""


def calibrate(
    graph: Graph, samples: Samples, values: Collection[int], tell: Tell = silent
) -> dict[int, Observer]:
    """The distribution of each of ``values`` over all samples.

    Raises TinyDeployError where there is no sample, or the model computes a NaN or an infinity on one.
    """
    interpreter = Interpreter(graph)
    observers = {value: Observer() for value in sorted(values)}
    count = 0
    for index, sample in enumerate(samples):
        interpreter.reset()
        with np.errstate(all="ignore"):
            arrays = interpreter.run_all(sample)
        for value, observer in observers.items():
            array = arrays[value]
            if not np.isfinite(array).all():
                raise TinyDeployError(
                    f"the model computes NaN or infinity in {graph.values[value].name!r}",
                    where=f"{samples.where}, sample {index}",
                    fix="Leave the sample out, or repair the model",
                )
            observer.add(array, index)
        count = index + 1
        tell("calibrating", count, samples.count)
    if count == 0:
        raise TinyDeployError("holds no sample", where=samples.where, fix="Give at least one")
    return observers
