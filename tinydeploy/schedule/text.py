"""Programs as text, for ``--dump-after schedule``."""

from __future__ import annotations

import json

from tinydeploy.schedule.program import Program, Step


def to_text(program: Program) -> str:
    """One line per step or, inside a row segment, per call."""
    lines = [f"program {json.dumps(program.graph.name)} for {program.target.core} {{"]
    for index, step in enumerate(program.steps):
        if len(step.calls) == 1:
            lines.append(f"  step {index}: {_call_text(program, step, 0)}")
            continue
        lines.append(f"  step {index}: segment {{")
        lines += [f"    {_call_text(program, step, position)}" for position in range(len(step.calls))]
        lines.append("  }")
    lines += [f"  view %{value} of %{root}" for value, root in enumerate(program.storage) if value != root]
    lines += [f"  state %{target} = %{source}" for source, target in program.commits()]
    return "\n".join([*lines, "}"]) + "\n"


def _call_text(program: Program, step: Step, position: int) -> str:
    call = step.calls[position]
    kernel = call.kernel
    ring = step.ring_of(call.output)
    outputs = ", ".join(f"%{value}" for value in call.outputs)
    parts = [
        f"{outputs} = {kernel.instance.schedule}({', '.join(f'%{value}' for value in call.inputs)})",
        f"band {kernel.band} of {kernel.result.rows}",
        *([f"ring {ring.rows} rows"] if ring else []),
        *([f"scratch {kernel.scratch_bytes}"] if kernel.scratch_bytes else []),
        json.dumps(program.graph.nodes[call.node].name),
    ]
    return ", ".join(parts)
