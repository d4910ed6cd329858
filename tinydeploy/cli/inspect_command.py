"""``tinydeploy inspect``: what is in a model, what it needs, and every gap at once."""

from __future__ import annotations

from tinydeploy import schedule
from tinydeploy.cli import console
from tinydeploy.cli.options import Json, Model, reads_model
from tinydeploy.codegen import macs_of
from tinydeploy.frontends import ImportOptions, Survey, survey
from tinydeploy.ir import Graph, type_text


@reads_model
def inspect(model: Model, options: ImportOptions, as_json: Json = False) -> None:
    """Show operators, shapes, MACs, weights, RAM bounds, and everything that is not supported.

    Example: tinydeploy inspect kws.tflite
    """
    found = survey(model, options)
    figures: dict[str, object] = {
        "model": found.name,
        "format": found.format,
        "operators": dict(found.operators),
        "unsupported": console.gaps_json(found.gaps),
    }
    if found.graph is not None:
        figures |= _graph_figures(found.graph)
    console.result(figures, as_json=as_json, text=_text(found, figures))


def _graph_figures(graph: Graph) -> dict[str, object]:
    return {
        "macs": sum(macs_of(graph, index) for index in range(len(graph.nodes))),
        "weights_bytes": sum(graph.type(value).bytes for value in graph.constants()),
        "graph_bound_bytes": schedule.graph_bound_bytes(graph),
        "inputs": [_port(graph, value) for value in graph.inputs],
        "outputs": [_port(graph, value) for value in graph.outputs],
        "nodes": [
            {
                "name": node.name,
                "op": node.op,
                "shape": list(graph.type(node.outputs[0]).shape),
                "macs": macs_of(graph, index),
            }
            for index, node in enumerate(graph.nodes)
        ],
    }


def _port(graph: Graph, value: int) -> dict[str, object]:
    type_ = graph.type(value)
    return {
        "name": graph.values[value].name,
        "dtype": type_.dtype.value,
        "shape": list(type_.shape),
        "scale": type_.quant.scale if type_.quant else None,
        "zero_point": type_.quant.zero_point if type_.quant else None,
    }


def _text(found: Survey, figures: dict[str, object]) -> str:
    lines = [f"{found.name} ({found.format})", ""]
    lines += [f"  {count:>4} x {op}" for op, count in found.operators]
    graph = found.graph
    if graph is not None:
        lines.append("")
        lines += [
            f"  input   {graph.values[value].name}: {type_text(graph.type(value))}" for value in graph.inputs
        ]
        lines += [
            f"  output  {graph.values[value].name}: {type_text(graph.type(value))}" for value in graph.outputs
        ]
        lines += [
            "",
            f"  {figures['macs']:>12,} multiply-accumulates",
            f"  {figures['weights_bytes']:>12,} bytes of constants",
            f"  {figures['graph_bound_bytes']:>12,} bytes of RAM at least, whole tensors",
            "",
            "Everything is supported.",
        ]
    else:
        lines += ["", f"{len(found.gaps)} gaps:"]
        lines += [f"  {gap.node} ({gap.op}): {gap.reason}; {gap.remedy}" for gap in found.gaps]
    return console.printable("\n".join(lines))
