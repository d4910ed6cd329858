"""Every error a user can meet: one hierarchy, one shape (what, where, what to do)."""

from __future__ import annotations

from dataclasses import dataclass


class TinyDeployError(Exception):
    """The input, the budget or the device is at fault; the program is not.

    ``what`` says what is wrong with the value got and what is allowed; ``where`` names the file, node or
    step; ``fix`` says what the user can do. The command line prints the three and exits with ``exit_code``.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what, where, fix)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}. {self.fix}" if self.fix else text


class ModelError(TinyDeployError):
    """A model file is damaged, or its content contradicts itself."""


class GraphError(TinyDeployError):
    """A graph breaks an invariant of the intermediate representation."""


class BudgetError(TinyDeployError):
    """The model does not fit the RAM, flash or time that was allowed."""


class ToolError(TinyDeployError):
    """A compiler, emulator or probe is missing or failed."""


class DeviceError(TinyDeployError):
    """The board does not answer, or answers wrongly."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing a model needs that is not supported.

    ``node`` is the model's own name of the node, ``op`` the operator in the model's format.
    """

    node: str
    op: str
    reason: str
    remedy: str


class UnsupportedError(TinyDeployError):
    """All gaps of a model at once, so that a user need not find them one by one."""

    def __init__(self, gaps: tuple[Gap, ...], *, where: str = "") -> None:
        self.gaps = gaps
        lines = [f"{gap.node} ({gap.op}): {gap.reason}; {gap.remedy}" for gap in gaps]
        count = "1 node is" if len(gaps) == 1 else f"{len(gaps)} nodes are"
        super().__init__("\n  ".join([f"{count} not supported", *lines]), where=where)
