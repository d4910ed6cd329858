"""Runs passes with the graph verified before and after each, and names the guilty one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinydeploy.errors import GraphError
from tinydeploy.ir import Graph
from tinydeploy.ops.check import verify


@dataclass(frozen=True, slots=True)
class Pass:
    """A pure function from graph to graph and the name that users know it by."""

    name: str
    run: Callable[[Graph], Graph]


def run_passes(
    graph: Graph, passes: Sequence[Pass], observe: Callable[[str, Graph], None] | None = None
) -> Graph:
    """The graph after all passes; ``observe`` sees the graph after each.

    Raises GraphError that names the pass and those before it where a pass breaks the graph.
    """
    verify(graph)
    done: list[str] = []
    for step in passes:
        try:
            graph = step.run(graph)
            verify(graph)
        except GraphError as error:
            history = f"after the passes {', '.join(done)}" if done else "as the first pass"
            raise GraphError(f"pass {step.name} broke the graph, {history}: {error}") from error
        done.append(step.name)
        if observe is not None:
            observe(step.name, graph)
    return graph
