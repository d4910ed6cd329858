"""The schedules: ways to compute an operator, in order of preference where their prices are equal."""

from __future__ import annotations

from tinydeploy.kernels.add import scalar as add_scalar
from tinydeploy.kernels.average_pool_2d import scalar as average_pool_2d_scalar
from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.conv_2d import im2col_dsp as conv_2d_im2col_dsp
from tinydeploy.kernels.conv_2d import pointwise_dsp as conv_2d_pointwise_dsp
from tinydeploy.kernels.conv_2d import scalar as conv_2d_scalar
from tinydeploy.kernels.depthwise_conv_2d import scalar as depthwise_conv_2d_scalar
from tinydeploy.kernels.fully_connected import dsp as fully_connected_dsp
from tinydeploy.kernels.fully_connected import scalar as fully_connected_scalar
from tinydeploy.kernels.softmax import scalar as softmax_scalar

SCHEDULES: tuple[Schedule, ...] = (
    conv_2d_pointwise_dsp.SCHEDULE,
    conv_2d_im2col_dsp.SCHEDULE,
    conv_2d_scalar.SCHEDULE,
    depthwise_conv_2d_scalar.SCHEDULE,
    fully_connected_dsp.SCHEDULE,
    fully_connected_scalar.SCHEDULE,
    average_pool_2d_scalar.SCHEDULE,
    add_scalar.SCHEDULE,
    softmax_scalar.SCHEDULE,
)

__all__ = ["SCHEDULES"]
