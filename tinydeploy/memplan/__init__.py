"""Memory planning in pure integers: which byte every buffer of a program starts at, proved and checked.

``peak`` prices a candidate schedule, ``plan`` places the chosen one's buffers, ``verify`` checks the answer
independently, and ``largest_holders`` and ``smallest_budget`` explain a plan that is over the budget. Nothing
here knows a graph: a buffer is a size, a life in steps and a pool. DESIGN section 5 defines the figures.
"""

from tinydeploy.memplan.budget import largest_holders, peak_step, smallest_budget
from tinydeploy.memplan.live import peak
from tinydeploy.memplan.model import Buffer, Kind, Placement, Plan, PlanError, PoolPlan, Proof
from tinydeploy.memplan.planner import plan
from tinydeploy.memplan.verifier import verify

__all__ = [
    "Buffer",
    "Kind",
    "Placement",
    "Plan",
    "PlanError",
    "PoolPlan",
    "Proof",
    "largest_holders",
    "peak",
    "peak_step",
    "plan",
    "smallest_budget",
    "verify",
]
