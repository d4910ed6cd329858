"""How good a model is at its task, from its outputs and the right answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, TensorType
from tinydeploy.verify.labels import Labels

Float64 = npt.NDArray[np.float64]


class Metric(Enum):
    """A figure of merit. ``mae`` is better the lower it is, the others the higher."""

    TOP1 = "top1"
    AUC = "auc"
    MAE = "mae"


def real(array: Array, type_: TensorType) -> Float64:
    """The numbers that an array of a type stands for."""
    numbers = array.astype(np.float64)
    quant = type_.quant
    if quant is None:
        return numbers
    shape = [1] * numbers.ndim
    if quant.axis is not None:
        shape[quant.axis] = -1
    scales, zeros = np.reshape(quant.scales, shape), np.reshape(quant.zero_points, shape)
    return np.asarray((numbers - zeros) * scales, np.float64)


def score(metric: Metric, outputs: Sequence[Float64], inputs: Sequence[Float64], labels: Labels) -> float:
    """A model's score over all samples, from the first output of each as real numbers.

    ``top1``: the share of samples whose largest output is the label's class. ``auc``: the area under the ROC
    curve for labels 0 and 1; the score of a sample is its only output, the second of two, or of an
    autoencoder, whose output has the input's size, the mean squared difference of the two. ``mae``: the mean
    absolute difference to the labels, which have the output's size. Raises TinyDeployError where labels and
    outputs do not fit the metric.
    """
    match metric:
        case Metric.TOP1:
            return _top1(outputs, labels)
        case Metric.AUC:
            return _auc(np.array([_score_of(*pair) for pair in zip(outputs, inputs, strict=True)]), labels)
        case Metric.MAE:
            return _mae(outputs, labels)


def _top1(outputs: Sequence[Float64], labels: Labels) -> float:
    classes = outputs[0].size
    if classes < 2:
        raise _misfit(Metric.TOP1, "a model of 2 outputs or more", f"{classes}", "Use auc or mae")
    wrong = labels.ndim > 1 or np.any(labels != np.floor(labels)) or labels.min() < 0
    if wrong or labels.max() >= classes:
        got = f"shape {list(labels.shape)}, values {labels.min():g} to {labels.max():g}"
        raise _misfit(
            Metric.TOP1,
            f"one class from 0 to {classes - 1} for each sample",
            got,
            "Give the classes' numbers",
        )
    hits = [int(np.argmax(output)) == int(label) for output, label in zip(outputs, labels, strict=True)]
    return float(np.mean(hits))


def _score_of(output: Float64, input_: Float64) -> float:
    if output.size <= 2:
        return float(output.reshape(-1)[-1])
    if output.size != input_.size:
        raise _misfit(
            Metric.AUC,
            "1 or 2 outputs, or as many as there are inputs",
            f"{output.size} outputs, {input_.size} inputs",
            "Use top1",
        )
    return float(np.mean((output.reshape(-1) - input_.reshape(-1)) ** 2))


def _auc(scores: Float64, labels: Labels) -> float:
    values = sorted(set(labels.reshape(-1).tolist()))
    if labels.ndim > 1 or values != [0.0, 1.0]:
        got = ", ".join(f"{value:g}" for value in values[:5])
        raise _misfit(Metric.AUC, "labels 0 and 1, each at least once", got, "Give 1 for what is to be found")
    positive = int(labels.sum())
    negative = len(labels) - positive
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]  # equal scores share their mean rank
    return (float(ranks[labels == 1].sum()) - positive * (positive + 1) / 2) / (positive * negative)


def _mae(outputs: Sequence[Float64], labels: Labels) -> float:
    if labels.size != sum(output.size for output in outputs):
        raise _misfit(
            Metric.MAE,
            f"{outputs[0].size} numbers for each sample",
            f"shape {list(labels.shape)}",
            "Give the labels in the output's shape",
        )
    flat = np.concatenate([output.reshape(-1) for output in outputs])
    return float(np.mean(np.abs(flat - labels.reshape(-1))))


def _misfit(metric: Metric, needed: str, got: str, fix: str) -> TinyDeployError:
    return TinyDeployError(f"metric {metric.value} needs {needed}; got {got}", where="labels", fix=fix)
