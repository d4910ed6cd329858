"""The schedules: ways to compute an operator, in order of preference where their prices are equal."""

from __future__ import annotations

from tinydeploy.kernels.average_pool_2d import scalar as average_pool_2d_scalar
from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.batch_mat_mul import scalar as batch_mat_mul_scalar
from tinydeploy.kernels.conv_2d import im2col_dsp as conv_2d_im2col_dsp
from tinydeploy.kernels.conv_2d import pointwise_dsp as conv_2d_pointwise_dsp
from tinydeploy.kernels.conv_2d import scalar as conv_2d_scalar
from tinydeploy.kernels.depthwise_conv_2d import dsp as depthwise_conv_2d_dsp
from tinydeploy.kernels.depthwise_conv_2d import scalar as depthwise_conv_2d_scalar
from tinydeploy.kernels.edge import dequantize, quantize
from tinydeploy.kernels.elementwise import binary
from tinydeploy.kernels.fully_connected import dsp as fully_connected_dsp
from tinydeploy.kernels.fully_connected import scalar as fully_connected_scalar
from tinydeploy.kernels.grouped_conv_2d import scalar as grouped_conv_2d_scalar
from tinydeploy.kernels.lookup import scalar as lookup_scalar
from tinydeploy.kernels.max_pool_2d import scalar as max_pool_2d_scalar
from tinydeploy.kernels.move import scalar as move_scalar
from tinydeploy.kernels.reduce import scalar as reduce_scalar
from tinydeploy.kernels.resize import bilinear
from tinydeploy.kernels.softmax import scalar as softmax_scalar
from tinydeploy.kernels.transpose_conv import scalar as transpose_conv_scalar

SCHEDULES: tuple[Schedule, ...] = (
    conv_2d_pointwise_dsp.SCHEDULE,
    conv_2d_im2col_dsp.SCHEDULE,
    conv_2d_scalar.SCHEDULE,
    depthwise_conv_2d_dsp.SCHEDULE,
    depthwise_conv_2d_scalar.SCHEDULE,
    fully_connected_dsp.SCHEDULE,
    fully_connected_scalar.SCHEDULE,
    average_pool_2d_scalar.SCHEDULE,
    softmax_scalar.SCHEDULE,
    grouped_conv_2d_scalar.SCHEDULE,
    transpose_conv_scalar.SCHEDULE,
    batch_mat_mul_scalar.SCHEDULE,
    max_pool_2d_scalar.SCHEDULE,
    binary.SCHEDULE,
    lookup_scalar.SCHEDULE,
    quantize.SCHEDULE,
    dequantize.SCHEDULE,
    reduce_scalar.SCHEDULE,
    move_scalar.SCHEDULE,
    bilinear.SCHEDULE,
)

__all__ = ["SCHEDULES"]
