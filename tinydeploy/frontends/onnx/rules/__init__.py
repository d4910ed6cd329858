"""One import rule per operator, grouped by family; other domains are part of the key."""

from tinydeploy.frontends.onnx.context import Rule
from tinydeploy.frontends.onnx.rules import (
    basics,
    determinant,
    dynamic,
    einsum,
    elementwise,
    functions,
    indices,
    matrices,
    moves,
    normalization,
    pools,
    qlinear,
    quantized,
    recurrent,
    reductions,
    resize,
    sampling,
    signal,
    windows,
)

RULES: dict[str, Rule] = {
    **basics.RULES,
    **determinant.RULES,
    **dynamic.RULES,
    **einsum.RULES,
    **elementwise.RULES,
    **functions.RULES,
    **indices.RULES,
    **matrices.RULES,
    **moves.RULES,
    **normalization.RULES,
    **pools.RULES,
    **qlinear.RULES,
    **quantized.RULES,
    **recurrent.RULES,
    **reductions.RULES,
    **resize.RULES,
    **sampling.RULES,
    **signal.RULES,
    **windows.RULES,
}
"""Keys are operator names, "Conv", with the domain before those of others, "com.microsoft.QLinearAdd"."""
