"""Is what runs the same as the reference, bit for bit, inner instances included?"""

from tinydeploy.verify.compare import Comparison, Mismatch, OutputTally, compare, mismatch_at
from tinydeploy.verify.samples import InputPort, load_inputs, make_samples, ports_of

__all__ = [
    "Comparison",
    "InputPort",
    "Mismatch",
    "OutputTally",
    "compare",
    "load_inputs",
    "make_samples",
    "mismatch_at",
    "ports_of",
]
