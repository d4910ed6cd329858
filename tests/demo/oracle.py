"""tflite-micro's interpreter with every inner tensor kept."""

from __future__ import annotations

from typing import Any

import tflite
from tflite_micro.python.tflite_micro import runtime

from tinydeploy.ir import Array


class TfliteMicro:
    """A model file under tflite-micro; one input, one output."""

    def __init__(self, model: bytes) -> None:
        self._interpreter: Any = runtime.Interpreter.from_bytes(
            model, intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors
        )
        subgraph = tflite.Model.GetRootAs(model, 0).Subgraphs(0)
        names = [subgraph.Tensors(index).Name().decode() for index in range(subgraph.TensorsLength())]
        self._indices = {name: index for index, name in enumerate(names)}

    def run(self, data: Array) -> Array:
        self._interpreter.set_input(data, 0)
        self._interpreter.invoke()
        return self._interpreter.get_output(0)  # type: ignore[no-any-return]

    def tensor(self, name: str) -> Array:
        """The tensor of this name after the last run."""
        return self._interpreter.GetTensor(self._indices[name], 0)["tensor_data"]  # type: ignore[no-any-return]
