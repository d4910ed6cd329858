"""Graph to graph: what every integer graph goes through before it is scheduled."""

from tinydeploy.passes.fold_batch_norm import fold_batch_norm
from tinydeploy.passes.fold_constants import fold_constants
from tinydeploy.passes.integerize import integerize
from tinydeploy.passes.layout import layout
from tinydeploy.passes.pipeline import Pass, run_passes
from tinydeploy.passes.remove_unused import remove_unused
from tinydeploy.passes.unread_sequences import unread_sequences

PASSES: tuple[Pass, ...] = (
    Pass("layout", layout),
    Pass("fold-batch-norm", fold_batch_norm),
    Pass("integerize", integerize),
    Pass("fold-constants", fold_constants),
    Pass("unread-sequences", unread_sequences),
    Pass("remove-unused", remove_unused),
)

__all__ = [
    "PASSES",
    "Pass",
    "fold_batch_norm",
    "fold_constants",
    "integerize",
    "layout",
    "remove_unused",
    "run_passes",
]
