"""The line from a graph to files: passes, schedule, plan, C, each stage verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tinydeploy import codegen, memplan, schedule
from tinydeploy.codegen import Files, Library
from tinydeploy.errors import BudgetError
from tinydeploy.ir import Graph
from tinydeploy.ir import to_text as graph_text
from tinydeploy.kernels.targets import Target
from tinydeploy.memplan import Plan
from tinydeploy.passes import PASSES, run_passes
from tinydeploy.schedule import Program
from tinydeploy.staging import staged

STAGES = ("import", *(step.name for step in PASSES), "schedule", "plan")
"""Names for ``--dump-after``."""

Observe = Callable[[str, str], None]
"""Called with the name and the text of each stage."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A model after the whole line: every level, and the library's files."""

    graph: Graph
    program: Program
    plan: Plan
    library: Library

    @property
    def original_weights_bytes(self) -> int:
        """Weights as the model has them, biases left out, before packing."""
        graph = self.graph
        weights = {
            node.inputs[1]
            for node in graph.nodes
            if len(node.inputs) > 1
            and node.inputs[1] is not None
            and graph.values[node.inputs[1]].is_constant
        }
        return sum(graph.type(value).bytes for value in weights if value is not None)

    def figures(self) -> dict[str, object]:
        """The figures of ``compile --json``, in bytes where the name says so."""
        plan, library = self.plan, self.library
        return {
            "model": self.graph.name,
            "name": library.prefix,
            "core": self.program.target.core,
            "hash": library.hash,
            "rounding": library.rounding,
            "macs": library.macs,
            "steps": len(self.program.steps),
            "tensor_bytes": plan.tensor_bytes,
            "scratch_bytes": plan.scratch_bytes,
            "max_step_scratch_bytes": plan.max_step_scratch_bytes,
            "arena_bytes": plan.arena_bytes,
            "lower_bound_bytes": plan.lower_bound_bytes,
            "optimal": plan.optimal,
            "graph_bound_bytes": schedule.graph_bound_bytes(self.graph),
            "weights_bytes": library.weights_bytes,
            "original_weights_bytes": self.original_weights_bytes,
            "table_bytes": library.table_bytes,
        }


def compile_graph(
    graph: Graph,
    target: Target,
    *,
    name: str | None = None,
    observe: Observe | None = None,
    slots: bool = False,
) -> Compiled:
    """Run the whole line for a graph as a front end made it.

    ``name`` is the C prefix, by default made from the graph's name; ``slots`` makes the constants
    exchangeable. Raises TinyDeployError for names that C
    does not take and UnsupportedError for nodes that no schedule computes.
    """
    tell = observe or (lambda _stage, _text: None)
    prefix = codegen.prefix_of(graph.name) if name is None else codegen.checked_prefix(name)
    tell("import", graph_text(graph))
    graph = run_passes(graph, PASSES, lambda stage, result: tell(stage, graph_text(result)))
    program = schedule.schedule(graph, target)
    tell("schedule", schedule.to_text(program))
    return compile_program(program, prefix, observe=observe, slots=slots)


def compile_program(
    program: Program, prefix: str, *, observe: Observe | None = None, slots: bool = False
) -> Compiled:
    """The rest of the line for a program, however it was made: verify, plan, prove, generate."""
    schedule.verify(program)
    requests, steps = schedule.buffers(program), schedule.step_count(program)
    plan = memplan.plan(requests, steps, align=program.align_bytes)
    memplan.verify(plan, requests, steps, align=program.align_bytes)
    if observe is not None:
        observe("plan", plan_text(plan))
    return Compiled(program.graph, program, plan, codegen.generate(program, plan, prefix, slots=slots))


def plan_text(plan: Plan) -> str:
    """A plan as text, for ``--dump-after plan``."""
    lines = [f"plan {plan.arena_bytes} bytes, bound {plan.lower_bound_bytes} {{"]
    for placement in plan.placements:
        buffer = placement.buffer
        lines.append(
            f"  {placement.offset:>8} +{buffer.size:<8} steps {buffer.first} to {buffer.last}"
            f"  {buffer.kind.value} {buffer.key}"
        )
    lines += [f"  step {step}: {peak} bytes" for step, peak in enumerate(plan.step_peaks)]
    return "\n".join([*lines, "}"]) + "\n"


def check_ram(compiled: Compiled, allowed_bytes: int, budget: str) -> None:
    """Raise BudgetError where the arena needs more than is allowed, with the largest holders at the peak.

    ``budget`` says who allows what; it gets the number of bytes.
    """
    plan, graph = compiled.plan, compiled.graph
    if plan.arena_bytes <= allowed_bytes:
        return
    holders: list[str] = []
    for placement in memplan.largest_holders(plan):
        buffer = placement.buffer
        if buffer.kind is memplan.Kind.SCRATCH:
            label = f"scratch of step {buffer.first}"
        else:
            label = graph.values[buffer.key].name[:60]
        holders.append(f"{buffer.size:,} bytes {label}")
    raise BudgetError(
        f"the arena needs {plan.arena_bytes:,} bytes, {budget.format(allowed_bytes)}; "
        f"largest at the peak: {', '.join(holders)}",
        where=graph.name,
        fix=f"The smallest budget that works is {memplan.smallest_budget(plan)}",
    )


def write_files(files: Files, folder: Path, *, fix: str = "Choose another -o") -> None:
    """Write every file, each complete or not at all; other files in the folder stay as they are.

    Raises TinyDeployError where the folder cannot be written; ``fix`` says what to do then.
    """
    with staged(folder, fix=fix) as work:
        for name, text in files.items():
            Path(work, name).write_text(text, encoding="utf-8", newline="\n")
