"""Graph to graph: what every integer graph goes through before it is scheduled."""

from tinydeploy.passes.fold_constants import fold_constants
from tinydeploy.passes.pipeline import Pass, run_passes
from tinydeploy.passes.remove_unused import remove_unused

PASSES: tuple[Pass, ...] = (
    Pass("fold-constants", fold_constants),
    Pass("remove-unused", remove_unused),
)

__all__ = ["PASSES", "Pass", "fold_constants", "remove_unused", "run_passes"]
