"""The weight stream of SMLAD kernels, shared by convolution and dense layers."""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array


def words_of(depth: int) -> int:
    """Words of four int8 that hold ``depth`` elements."""
    return -(-depth // 4)


def interleave(weights: Array, group: int) -> Array:
    """[C, K] to the order in which kernels read them: for each group of channels, word by word in turn.

    A word holds four weights of one channel; rows are filled with zeros to whole words, and the last group
    is smaller where ``group`` does not divide C.
    """
    channels, depth = weights.shape
    words = words_of(depth)
    filled = np.zeros((channels, words * 4), np.int8)
    filled[:, :depth] = weights
    by_word = filled.reshape(channels, words, 4)
    parts = [
        by_word[first : first + group].transpose(1, 0, 2).reshape(-1) for first in range(0, channels, group)
    ]
    return np.concatenate(parts)
