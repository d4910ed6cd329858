"""Integer weights of dot products: what all kinds of data that meet them share."""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnySite
from tinydeploy.ops.quantized import along, quant_of

WEIGHTS = (DType.INT8, DType.INT4)


def centred_weights(site: AnySite, weights: Array) -> Array:
    """Weights as float64 minus their zero points."""
    _, zero_points = along(quant_of(site.input(1)), weights.shape)
    return weights.astype(np.float64) - zero_points
