"""What the kernels of Lstm, Gru and Rnn have in common: sizes, places of operands, activations as C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinydeploy.ir import Attrs
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.recurrent import Cell, CellFunction, cells, extents, macs

INSTRUCTIONS_PER_MAC = 5
INSTRUCTIONS_PER_UNIT = 150


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of the runtime with the numbers that follow its argument."""

    function: str
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RecurrentParams(Params):
    """``rows`` gives the row pointer of each input, None where it is absent; ``activations`` those of each
    direction. ``variant`` is the operator's own switch: coupled gates, or the reset gate's place."""

    steps: int
    batch: int
    inputs: int
    hidden: int
    gates: int
    backward: tuple[bool, ...]
    rows: tuple[int | None, ...]
    activations: tuple[tuple[Activation, ...], ...]
    clip: float | None
    variant: bool
    sequence: bool
    cell_clip: float | None = None

    @property
    def directions(self) -> int:
        return len(self.backward)

    def index(self, inner: int, *, time: bool = False, step: str = "time") -> str:
        """C for the place of a row of ``inner`` elements: of the state of a direction and batch, or with
        ``time`` of a sequence whose order is time, direction, batch."""
        terms = step if time else ""
        for name, extent in (("d", self.directions), ("b", self.batch)):
            if extent > 1:
                terms = f"{scaled(terms, extent)} + {name}" if terms else name
        return scaled(terms, inner) if terms else "0"

    def data_index(self) -> str:
        """C for the place of an input row: time, batch."""
        return scaled(f"time * {self.batch} + b" if self.batch > 1 else "time", self.inputs)

    def direction_index(self, inner: int) -> str:
        """C for the place of a direction's block of ``inner`` elements."""
        return f"d * {inner}" if self.directions > 1 else "0"

    @property
    def takes_turns(self) -> bool:
        """Whether the directions have different activations."""
        return len(set(self.activations)) > 1


def scaled(text: str, factor: int) -> str:
    """``(a + b) * factor``, without what is not needed."""
    if factor == 1:
        return text
    return f"({text}) * {factor}" if " + " in text else f"{text} * {factor}"


FUNCTIONS: dict[CellFunction, Callable[[float, float], Activation]] = {
    CellFunction.AFFINE: lambda alpha, beta: Activation("affine", (alpha, beta)),
    CellFunction.ELU: lambda alpha, _: Activation("td_recurrent_elu", (alpha,)),
    CellFunction.HARD_SIGMOID: lambda alpha, beta: Activation("td_recurrent_hard_sigmoid", (alpha, beta)),
    CellFunction.LEAKY_RELU: lambda alpha, _: Activation("td_recurrent_leaky_relu", (alpha,)),
    CellFunction.RELU: lambda _, __: Activation("td_recurrent_relu", ()),
    CellFunction.SCALED_TANH: lambda alpha, beta: Activation("scaled_tanh", (alpha, beta)),
    CellFunction.SIGMOID: lambda _, __: Activation("td_sigmoidf", ()),
    CellFunction.SOFTPLUS: lambda _, __: Activation("td_softplusf", ()),
    CellFunction.SOFTSIGN: lambda _, __: Activation("td_recurrent_softsign", ()),
    CellFunction.TANH: lambda _, __: Activation("td_tanhf", ()),
    CellFunction.THRESHOLDED_RELU: lambda alpha, _: Activation("td_recurrent_thresholded_relu", (alpha,)),
}


def activation(cell: Cell) -> Activation:
    """A cell's activation as C."""
    function, alpha, beta = cell
    return FUNCTIONS[function](alpha, beta)


def params_of(site: AnySite, gates: int, *, variant: bool) -> RecurrentParams:
    """The compile-time constants of a node."""
    size = extents(site)
    present = [index for index in range(len(site.inputs)) if site.has(index)]
    return RecurrentParams(
        steps=size.steps,
        batch=size.batch,
        inputs=size.inputs,
        hidden=size.hidden,
        gates=gates,
        backward=site.attrs.direction.reversed,
        rows=tuple(present.index(index) if index in present else None for index in range(8)),
        activations=tuple(
            tuple(activation(cell) for cell in cells(site, gates, direction))
            for direction in range(size.directions)
        ),
        clip=site.attrs.clip,
        variant=variant,
        sequence=site.attrs.sequence,
        cell_clip=getattr(site.attrs, "cell_clip", None),
    )


def schedule(
    name: str, op: type[Attrs], gates: int, doc: str, variant: Callable[[AnySite], bool]
) -> Schedule:
    """The schedule of one of the operators; its scratch holds the gates of one step."""

    def make(site: AnySite, _knobs: Knobs) -> Kernel:
        operands = tuple(index for index in range(len(site.inputs)) if site.has(index))
        size = extents(site)
        units = size.steps * size.batch * size.directions * size.hidden
        return Kernel(
            instance=Instance(name, params_of(site, gates, variant=variant(site))),
            title=f"{op.__name__}, {shape_text(site.input(0).shape)} -> {shape_text(site.outputs[0].shape)}",
            band=1,
            flat=True,
            operands=operands,
            accesses=tuple(whole_access(site, index) for index in operands),
            result=Result(1, site.outputs[0].bytes),
            constants=(),
            scalars=(),
            scratch_bytes=4 * gates * size.hidden,
            cost_instructions=macs(site, gates) * INSTRUCTIONS_PER_MAC + units * INSTRUCTIONS_PER_UNIT,
            more=tuple(Result(1, type_.bytes) for type_ in site.outputs[1:]),
        )

    return Schedule(
        name=name,
        op=op,
        doc=doc,
        applies=lambda site, _target: is_float(site),
        knobs=lambda _site, _target: (Banded(1),),
        make=make,
        headers=("td_recurrent.h",),
    )
