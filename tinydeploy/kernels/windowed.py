"""Kernels that slide a window of weights over the lines of an image: what their schedules declare alike."""

from __future__ import annotations

from tinydeploy.ir import Array
from tinydeploy.kernels.base import Constant, Instance, Kernel, Params, Scalar
from tinydeploy.kernels.image import image_access, image_result, shape_text, window_text
from tinydeploy.kernels.requantize import Folded
from tinydeploy.ops import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.quantized import quant_of


def weights_of(site: AnySite) -> Array:
    """The constant weights (input 1) that the operators' constraints guarantee."""
    weights = site.constant(1)
    if weights is None:
        raise ValueError(f"{site.name}: weights are not constant")
    return weights


def windowed_kernel(
    site: AnySite,
    schedule: str,
    params: Params,
    weights: Constant,
    folded: Folded,
    *,
    cost: float,
    borders: bool,
    band: int = 1,
    flat: bool = False,
    scratch_bytes: int = 0,
) -> Kernel:
    """The kernel of a convolution of any kind; ``borders`` ones are told the input's zero point.

    ``cost`` is in instructions for the whole output.
    """
    vertical, horizontal = windows(site)
    zero_point = quant_of(site.input(0)).zero_point
    padding = (Scalar("input_zero_point", zero_point),) if borders else ()
    op = type(site.attrs).__name__
    return Kernel(
        instance=Instance(schedule, params),
        title=f"{op} {window_text(vertical, horizontal)}, {shape_text(site)}",
        band=band,
        flat=flat,
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=(weights, *folded.constants),
        scalars=(*padding, *folded.scalars),
        scratch_bytes=scratch_bytes,
        cost_instructions=int(cost),
        pad_value=zero_point,
    )
