"""Graph to program: which kernel, which knobs, which rows stream."""

from tinydeploy.schedule.bounds import graph_bound_bytes
from tinydeploy.schedule.lifetimes import buffers, scratch_key, step_count
from tinydeploy.schedule.program import Call, Program, Ring, Step
from tinydeploy.schedule.select import call_of, candidates, default_kernel, is_view, schedule, storage_of
from tinydeploy.schedule.text import to_text
from tinydeploy.schedule.verifier import verify

__all__ = [
    "Call",
    "Program",
    "Ring",
    "Step",
    "buffers",
    "call_of",
    "candidates",
    "default_kernel",
    "graph_bound_bytes",
    "is_view",
    "schedule",
    "scratch_key",
    "step_count",
    "storage_of",
    "to_text",
    "verify",
]
