"""From answers to the figures of the rules: Top-1 and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata


def top1(scores: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    """Share of the samples whose largest score is that of their class; of equal scores the first counts."""
    best = [int(np.argmax(row)) for row in scores]
    return sum(a == b for a, b in zip(best, labels, strict=True)) / len(labels)


def auc(values: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Area under the ROC curve of a value that should be larger for class 1 (Mann-Whitney, ties half).

    Raises ValueError where one of the classes has no sample.
    """
    truth = np.asarray(labels) == 1
    positive, negative = int(truth.sum()), int((~truth).sum())
    if not positive or not negative:
        raise ValueError("an AUC needs samples of both classes")
    ranks = rankdata(values)
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))


def auc_one_vs_rest(scores: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    """The mean over the classes of the area under their curve against all others, as the runner prints it."""
    columns = np.asarray(scores)
    truth = np.asarray(labels)
    present = sorted(set(labels))
    return float(np.mean([auc(columns[:, label], truth == label) for label in present]))
