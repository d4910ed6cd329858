"""Is what runs the same as the reference, bit for bit, inner instances included?"""

from tinydeploy.verify.compare import Comparison, Mismatch, compare
from tinydeploy.verify.samples import load_inputs, make_samples

__all__ = ["Comparison", "Mismatch", "compare", "load_inputs", "make_samples"]
