"""What can be said of a model file even where not all of it is supported."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.errors import Gap
from tinydeploy.ir import Graph


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
