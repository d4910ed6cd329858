"""How float kernels of images see their rows: band by band, or a whole batch at once."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Result
from tinydeploy.ops import AnySite
from tinydeploy.ops.window import Window


@dataclass(frozen=True, slots=True)
class ImageRows:
    """Access of input 0 and rows of output 0.

    A single image is read row by row. The rows of a batch do not follow one another as windows need them:
    such a kernel reads and writes everything in one call (``whole``).
    """

    access: Access
    result: Result
    whole: bool


def image_rows(site: AnySite, vertical: Window, *, flat: bool) -> ImageRows:
    """The rows of images NHWC; ``flat`` kernels see pixels only, so any batch is one long image."""
    batch, height = site.input(0).shape[:2]
    rows = site.outputs[0].shape[1]
    if batch > 1 and not flat:
        return ImageRows(Access(1, site.input(0).bytes), Result(1, site.outputs[0].bytes), whole=True)
    access = Access(
        batch * height,
        site.input(0).bytes // (batch * height),
        vertical.stride,
        vertical.extent,
        vertical.before,
    )
    return ImageRows(access, Result(batch * rows, site.outputs[0].bytes // (batch * rows)), whole=False)
