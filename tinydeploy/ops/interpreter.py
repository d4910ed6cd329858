"""Runs a graph with the operators' exact numpy references: the meaning that all generated code must have."""

from __future__ import annotations

from collections.abc import Sequence

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, Graph
from tinydeploy.ops import OPS
from tinydeploy.ops.base import site_of


class Interpreter:
    """A graph ready to run, with its state variables."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._sites = [site_of(graph, index) for index in range(len(graph.nodes))]
        self._constants = {value: graph.array(value) for value in graph.constants()}
        self.reset()

    def reset(self) -> None:
        """Set every state variable to its initial value."""
        graph = self.graph
        self._states = {
            state.before: graph.blobs.array(state.initial, graph.type(state.before)) for state in graph.states
        }

    def run_all(self, inputs: Sequence[Array]) -> dict[int, Array]:
        """Run once; the result holds the array of every value, constants included, by id.

        Raises TinyDeployError where an input has another shape or element type than the graph's.
        """
        arrays: dict[int, Array] = {**self._constants, **self._states, **self._checked(inputs)}
        for node, site in zip(self.graph.nodes, self._sites, strict=True):
            operands = tuple(None if value is None else arrays[value] for value in node.inputs)
            results = OPS[node.op].reference(site, operands)
            arrays.update(zip(node.outputs, results, strict=True))
        self._states = {state.before: arrays[state.after] for state in self.graph.states}
        return arrays

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Run once; the result is the graph's outputs in order."""
        arrays = self.run_all(inputs)
        return tuple(arrays[value] for value in self.graph.outputs)

    def _checked(self, inputs: Sequence[Array]) -> dict[int, Array]:
        if len(inputs) != len(self.graph.inputs):
            raise TinyDeployError(f"{len(inputs)} inputs given, the model has {len(self.graph.inputs)}")
        checked: dict[int, Array] = {}
        for index, (value, array) in enumerate(zip(self.graph.inputs, inputs, strict=True)):
            type_ = self.graph.type(value)
            if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
                raise TinyDeployError(
                    f"input {index} is {array.dtype}{list(array.shape)}, "
                    f"the model wants {type_.dtype.value}{list(type_.shape)}",
                    fix="Reshape or convert the array",
                )
            checked[value] = array
        return checked
