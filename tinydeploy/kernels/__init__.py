"""The schedules: ways to compute an operator, in order of preference where their prices are equal."""

from __future__ import annotations

from tinydeploy.kernels.average_pool_2d import once as average_pool_2d_once
from tinydeploy.kernels.average_pool_2d import scalar as average_pool_2d_scalar
from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.batch_mat_mul import float as batch_mat_mul_float
from tinydeploy.kernels.batch_mat_mul import scalar as batch_mat_mul_scalar
from tinydeploy.kernels.conv_2d import float as conv_2d_float
from tinydeploy.kernels.conv_2d import im2col_dsp as conv_2d_im2col_dsp
from tinydeploy.kernels.conv_2d import pointwise_dsp as conv_2d_pointwise_dsp
from tinydeploy.kernels.conv_2d import scalar as conv_2d_scalar
from tinydeploy.kernels.conv_3d import float as conv_3d_float
from tinydeploy.kernels.custom import template as custom_template
from tinydeploy.kernels.depthwise_conv_2d import dsp as depthwise_conv_2d_dsp
from tinydeploy.kernels.depthwise_conv_2d import float as depthwise_conv_2d_float
from tinydeploy.kernels.depthwise_conv_2d import scalar as depthwise_conv_2d_scalar
from tinydeploy.kernels.edge import dequantize, quantize
from tinydeploy.kernels.elementwise import binary, once
from tinydeploy.kernels.elementwise import steps as elementwise_steps
from tinydeploy.kernels.fully_connected import dsp as fully_connected_dsp
from tinydeploy.kernels.fully_connected import scalar as fully_connected_scalar
from tinydeploy.kernels.general import transposed as general_transposed
from tinydeploy.kernels.general import windowed as general_windowed
from tinydeploy.kernels.grid_sample import scalar as grid_sample_scalar
from tinydeploy.kernels.grouped_conv_2d import scalar as grouped_conv_2d_scalar
from tinydeploy.kernels.hybrid import windowed as hybrid_windowed
from tinydeploy.kernels.local_response_norm import float as local_response_norm_float
from tinydeploy.kernels.lookup import interpolated
from tinydeploy.kernels.lookup import scalar as lookup_scalar
from tinydeploy.kernels.lstm_tflite import scalar as lstm_tflite_scalar
from tinydeploy.kernels.max_pool_2d import scalar as max_pool_2d_scalar
from tinydeploy.kernels.max_pool_indices import plain as max_pool_indices_plain
from tinydeploy.kernels.move import bit_cast as move_bit_cast
from tinydeploy.kernels.move import gather as move_gather
from tinydeploy.kernels.move import one_hot as move_one_hot
from tinydeploy.kernels.move import reverse_sequence as move_reverse_sequence
from tinydeploy.kernels.move import scalar as move_scalar
from tinydeploy.kernels.move import scatter as move_scatter
from tinydeploy.kernels.normalization import float as normalization_float
from tinydeploy.kernels.normalization import once as normalization_once
from tinydeploy.kernels.packed import dense as packed_dense
from tinydeploy.kernels.packed import depthwise as packed_depthwise
from tinydeploy.kernels.plain import elementwise as plain_elementwise
from tinydeploy.kernels.pool import plain as pool_plain
from tinydeploy.kernels.recurrent import gru, lstm, rnn
from tinydeploy.kernels.reduce import index as reduce_index
from tinydeploy.kernels.reduce import plain as reduce_plain
from tinydeploy.kernels.reduce import scalar as reduce_scalar
from tinydeploy.kernels.resize import bilinear
from tinydeploy.kernels.resize import resample as resize_resample
from tinydeploy.kernels.roi_align import max_roi_pool as roi_align_max_roi_pool
from tinydeploy.kernels.roi_align import scalar as roi_align_scalar
from tinydeploy.kernels.scan import cum_sum, top_k
from tinydeploy.kernels.softmax import float as softmax_float
from tinydeploy.kernels.softmax import once as softmax_once
from tinydeploy.kernels.softmax import scalar as softmax_scalar
from tinydeploy.kernels.svdf import scalar as svdf_scalar
from tinydeploy.kernels.transpose_conv import float as transpose_conv_float
from tinydeploy.kernels.transpose_conv import scalar as transpose_conv_scalar
from tinydeploy.kernels.wide import sigmoids as wide_sigmoids
from tinydeploy.kernels.wide import softmax as wide_softmax

SCHEDULES: tuple[Schedule, ...] = (
    conv_2d_pointwise_dsp.SCHEDULE,
    conv_2d_im2col_dsp.SCHEDULE,
    conv_2d_scalar.SCHEDULE,
    depthwise_conv_2d_dsp.SCHEDULE,
    depthwise_conv_2d_scalar.SCHEDULE,
    fully_connected_dsp.SCHEDULE,
    fully_connected_scalar.SCHEDULE,
    average_pool_2d_scalar.SCHEDULE,
    average_pool_2d_once.SCHEDULE,
    softmax_scalar.SCHEDULE,
    softmax_once.SCHEDULE,
    softmax_once.LOG_SCHEDULE,
    grouped_conv_2d_scalar.SCHEDULE,
    transpose_conv_scalar.SCHEDULE,
    batch_mat_mul_scalar.SCHEDULE,
    max_pool_2d_scalar.SCHEDULE,
    binary.SCHEDULE,
    once.SCHEDULE,
    lookup_scalar.SCHEDULE,
    interpolated.SCHEDULE,
    plain_elementwise.SCHEDULE,
    quantize.SCHEDULE,
    dequantize.SCHEDULE,
    reduce_scalar.SCHEDULE,
    reduce_plain.SCHEDULE,
    reduce_index.SCHEDULE,
    cum_sum.SCHEDULE,
    top_k.SCHEDULE,
    move_scalar.SCHEDULE,
    move_gather.SCHEDULE,
    move_scatter.SCHEDULE,
    move_reverse_sequence.SCHEDULE,
    move_one_hot.SCHEDULE,
    move_bit_cast.SCHEDULE,
    lstm.SCHEDULE,
    gru.SCHEDULE,
    rnn.SCHEDULE,
    custom_template.SCHEDULE,
    bilinear.SCHEDULE,
    resize_resample.SCHEDULE,
    grid_sample_scalar.SCHEDULE,
    roi_align_scalar.SCHEDULE,
    roi_align_max_roi_pool.SCHEDULE,
    batch_mat_mul_float.SCHEDULE,
    conv_2d_float.SCHEDULE,
    depthwise_conv_2d_float.SCHEDULE,
    pool_plain.SCHEDULE,
    max_pool_indices_plain.SCHEDULE,
    transpose_conv_float.SCHEDULE,
    conv_3d_float.SCHEDULE,
    local_response_norm_float.SCHEDULE,
    normalization_float.SCHEDULE,
    normalization_once.SCHEDULE,
    softmax_float.SCHEDULE,
    packed_dense.SCHEDULE,
    packed_depthwise.SCHEDULE,
    general_windowed.SCHEDULE,
    general_transposed.SCHEDULE,
    hybrid_windowed.SCHEDULE,
    elementwise_steps.SCHEDULE,
    wide_sigmoids.SCHEDULE,
    wide_softmax.SCHEDULE,
    svdf_scalar.SCHEDULE,
    lstm_tflite_scalar.SCHEDULE,
)

__all__ = ["SCHEDULES"]
