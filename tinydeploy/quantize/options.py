"""What a user decides about a quantization."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import DType
from tinydeploy.quantize.interface import Normalisation
from tinydeploy.quantize.ranges import Method

ACTIVATIONS = (DType.INT8, DType.INT16)
INTERFACES = (DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT32)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of mixed precision; None does not limit.

    ``flash_bytes`` of weights, ``ram_bytes`` of activations that live at once, ``max_drop``: percent of the
    samples whose answer may change.
    """

    flash_bytes: int | None = None
    ram_bytes: int | None = None
    max_drop: float | None = None

    @property
    def asked(self) -> bool:
        return (self.flash_bytes, self.ram_bytes, self.max_drop) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of ``tinydeploy quantize``; the defaults are what most networks want.

    ``adaptive_rounding`` of None means: for 4-bit weights. ``compared`` is how many samples the report's
    ratios are measured on.
    """

    method: Method = Method.ROBUST
    activations: DType = DType.INT8
    weight_bits: int = 8
    input_type: DType = DType.INT8
    output_type: DType = DType.INT8
    normalisation: Normalisation | None = None
    fold_batch_norm: bool = True
    equalize: bool = False
    bias_correction: bool = True
    adaptive_rounding: bool | None = None
    effects: bool = False
    samples: int | None = None
    compared: int = 64
    budget: Budget = Budget()

    def check(self) -> None:
        """Raise TinyDeployError where choices are not among the allowed or contradict each other."""
        _one_of("--activations", self.activations, ACTIVATIONS)
        _one_of("--input-type", self.input_type, INTERFACES)
        _one_of("--output-type", self.output_type, INTERFACES)
        if self.weight_bits not in (4, 8):
            raise TinyDeployError(f"{self.weight_bits} bits", where="--weights", fix="Allowed: int8, int4")
        for option, chosen in (("--input-type", self.input_type), ("--output-type", self.output_type)):
            narrow = chosen in (DType.INT8, DType.UINT8)
            if chosen is not DType.FLOAT32 and narrow != (self.activations is DType.INT8):
                raise TinyDeployError(
                    f"{chosen.value} where activations are {self.activations.value}",
                    where=option,
                    fix=f"Allowed: float32, {self.activations.value}",
                )

    @property
    def adapts(self) -> bool:
        """Whether weights are rounded adaptively."""
        return self.weight_bits == 4 if self.adaptive_rounding is None else self.adaptive_rounding


def _one_of(option: str, chosen: DType, allowed: tuple[DType, ...]) -> None:
    if chosen not in allowed:
        names = ", ".join(dtype.value for dtype in allowed)
        raise TinyDeployError(f"{chosen.value} is not possible", where=option, fix=f"Allowed: {names}")
