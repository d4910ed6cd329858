"""What a front end is asked, and what it can say of a model file even where not all of it is supported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tinydeploy.errors import Gap
from tinydeploy.ir import Graph
from tinydeploy.ops.custom import Definition


class Layout(Enum):
    """Order of the axes of images at the model's interface."""

    MODEL = "model"
    NHWC = "nhwc"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a model is to be read; the command line has one option for each.

    ``dims`` are sizes of dynamic dimensions by name, or by INPUT:AXIS. ``states`` are pairs of an input and
    the output that becomes its next value: they turn into a state variable. ``values`` make inputs constant.
    ``layout`` NHWC turns every image at the interface, [N, C, H, W] in the model, to [N, H, W, C].
    ``signature`` names one of the signatures of a file that has several. ``ops`` are operators of the user's
    own; ``adapter`` is a file of low-rank weights to be merged.
    """

    dims: tuple[tuple[str, int], ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, float], ...] = ()
    layout: Layout = Layout.MODEL
    signature: str | None = None
    ops: tuple[Definition, ...] = ()
    adapter: Path | None = None


AS_IS = ImportOptions()


@dataclass(frozen=True, slots=True)
class Survey:
    """A file at a glance.

    ``operators`` counts the operators under the names of the file's format, sorted by name; ``gaps`` is all
    that is not supported; ``graph`` is None where there is any gap.
    """

    format: str
    name: str
    operators: tuple[tuple[str, int], ...]
    gaps: tuple[Gap, ...]
    graph: Graph | None
