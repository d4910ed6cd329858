"""Is what runs the same as the reference, inner instances included, and how good is it at its task?"""

from tinydeploy.verify.compare import Comparison, Mismatch, OutputTally, Worst, compare, mismatch_at
from tinydeploy.verify.metrics import Metric
from tinydeploy.verify.samples import InputPort, load_inputs, make_samples, ports_of
from tinydeploy.verify.task import Scores, Task, task_of

__all__ = [
    "Comparison",
    "InputPort",
    "Metric",
    "Mismatch",
    "OutputTally",
    "Scores",
    "Task",
    "Worst",
    "compare",
    "load_inputs",
    "make_samples",
    "mismatch_at",
    "ports_of",
    "task_of",
]
