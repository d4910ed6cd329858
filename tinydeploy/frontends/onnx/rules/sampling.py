"""Operators that read images at computed places: grids and regions."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.places import TO_FIRST, TO_LAST, numbers_of
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.grid_sample import GridSample, Outside, Sampling
from tinydeploy.ops.max_roi_pool import MaxRoiPool
from tinydeploy.ops.roi_align import RoiAlign

_SAMPLINGS = {
    "nearest": Sampling.NEAREST,
    "linear": Sampling.LINEAR,
    "bilinear": Sampling.LINEAR,
    "cubic": Sampling.CUBIC,
    "bicubic": Sampling.CUBIC,
}
_OUTSIDE = {outside.value: outside for outside in Outside}


def _grid_sample(context: Context) -> None:
    image, grid = context.input(0), context.input(1)
    mode, padding = context.str_("mode", "linear"), context.str_("padding_mode", "zeros")
    if mode not in _SAMPLINGS or padding not in _OUTSIDE or image.rank < 3:
        raise context.fault(f"mode {mode!r}, padding {padding!r}, image {list(image.shape)}")
    attrs = GridSample(_SAMPLINGS[mode], _OUTSIDE[padding], bool(context.int_("align_corners", 0)))
    last = (0, *range(2, image.rank), 1)
    first = (0, image.rank - 1, *range(1, image.rank - 1))
    context.set(context.transpose(context.emit(attrs, context.transpose(image, last), grid), first))


def _affine_grid(context: Context) -> None:
    """The grid of the identity, with a column of ones, times the matrix of each image."""
    theta, size = context.input(0), numbers_of(context, 1, "the size")
    axes = len(size) - 2
    if axes not in (2, 3) or theta.shape != (size[0], axes, axes + 1) or min(size) < 1:
        raise context.fault(f"size {size} for matrices {list(theta.shape)}")
    align = bool(context.int_("align_corners", 0))
    lines = [_centres(extent, align=align) for extent in size[2:]]
    grids = np.meshgrid(*lines, indexing="ij")[::-1]
    base = np.stack([*grids, np.ones(size[2:])], axis=-1).reshape(1, -1, axes + 1)
    spread = np.broadcast_to(base, (size[0], *base.shape[1:])).astype(np.float32)
    made = context.emit(BatchMatMul(transpose_b=True), context.literal(spread, "grid"), theta)
    context.set(context.reshape(made, (size[0], *size[2:], axes)))


def _centres(extent: int, *, align: bool) -> np.ndarray:
    """Numbers from -1 to 1 across an axis: from the outermost pixels' centres, or from their edges."""
    if align:
        return np.linspace(-1.0, 1.0, extent)
    return (2 * np.arange(extent) + 1) / extent - 1


def _image(context: Context) -> Ref:
    image = context.input(0)
    if image.rank != 4:
        raise context.fault(f"its image has shape {list(image.shape)}; 4 dimensions are needed")
    return context.transpose(image, TO_LAST)


def _roi_align(context: Context) -> None:
    mode = context.str_("mode", "avg").lower()
    default = "half_pixel" if context.opset >= 16 else "output_half_pixel"
    coordinates = context.str_("coordinate_transformation_mode", default)
    if mode not in ("avg", "max") or coordinates not in ("half_pixel", "output_half_pixel"):
        raise context.fault(f"mode {mode!r}, coordinates {coordinates!r}")
    attrs = RoiAlign(
        (context.int_("output_height", 1), context.int_("output_width", 1)),
        context.int_("sampling_ratio", 0),
        context.float_("spatial_scale", 1.0),
        coordinates == "half_pixel",
        mode == "max",
    )
    made = context.emit(attrs, _image(context), context.input(1), context.input(2))
    context.set(context.transpose(made, TO_FIRST))


def _max_roi_pool(context: Context) -> None:
    size = context.ints("pooled_shape")
    if len(size) != 2:
        raise context.fault(f"pooled_shape {list(size)}; height and width are needed")
    attrs = MaxRoiPool((size[0], size[1]), context.float_("spatial_scale", 1.0))
    context.set(context.transpose(context.emit(attrs, _image(context), context.input(1)), TO_FIRST))


def _image_decoder(context: Context) -> None:
    context.refuse(
        "it decodes a compressed image", "decode the image in the application and give the model its pixels"
    )


RULES: dict[str, Rule] = {
    "AffineGrid": _affine_grid,
    "GridSample": _grid_sample,
    "ImageDecoder": _image_decoder,
    "MaxRoiPool": _max_roi_pool,
    "RoiAlign": _roi_align,
}
