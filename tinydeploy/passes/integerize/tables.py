"""Functions of one element, whatever nodes they are made of: a table of their results over all steps."""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, Node, TensorType
from tinydeploy.ops import OPS, Site
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.unary_function import Unary

POINTWISE: tuple[type[Attrs], ...] = (
    Add,
    Binary,
    Clip,
    HardSwish,
    LeakyRelu,
    Logistic,
    Maximum,
    Minimum,
    Mul,
    Prelu,
    Relu,
    Sub,
    Tanh,
    Unary,
)
"""Operators that compute each element from the elements at its place."""


def evaluated(node: Node, operands: tuple[Array, ...]) -> Array | None:
    """The float reference of a node over tables, or single numbers; None where the result is no float."""
    entries = max(operand.size for operand in operands)
    arrays = tuple(operand.reshape(-1).astype(np.float32) for operand in operands)
    types = tuple(TensorType(DType.FLOAT32, array.shape) for array in arrays)
    site = Site(node.name, node.attrs, types, (TensorType(DType.FLOAT32, (entries,)),), arrays)
    operator = OPS[node.op]
    if operator.infer(site) != site.outputs:
        return None
    with np.errstate(all="ignore"):
        (result,) = operator.reference(site, arrays)
    return result
