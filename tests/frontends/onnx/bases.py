"""Sound ONNX files for the fuzz test to break: small, and together of every kind of structure."""

from __future__ import annotations

import numpy as np

from tests.frontends.onnx.making import model_of
from tests.onnx_models import OnnxBuilder
from tests.shared_data import SHARED

SHARED_SMALL = (
    "cases/g01_names/model.onnx",
    "cases/g03_qlinearconv_wzp/diff_zp.onnx",
    "cases/g09_gemm_alpha/alpha2.0_beta1.0.onnx",
    "cases/g10_lifetimes/model.onnx",
    "cases/g12_float_no_warnings/model.onnx",
    "models/onnx/emx_micro_kws_qdq.onnx",
    "models/onnx/espdl_streaming_model.onnx",
    "models/onnx/onnx2c_atmega_mnist.onnx",
    "models/onnx/tract_qlstm.onnx",
    "models/onnx/tract_qrelu.onnx",
    "models/onnx/wonnx_opt_mnist.onnx",
)

_SHAPES = """g (float[1, 2, 6] x, bool which) => (float[N] y) <int64[1] k = {-1}, int64[1] one = {1}> {
  s = Shape(x)  n = Gather<axis: int = 0>(s, one)  c = ConstantOfShape(n)  f = Concat<axis: int = 0>(n, k)
  r = Reshape(x, f)  e = Expand(r, s)  t = Transpose<perm: ints = [1, 0, 2]>(e)
  y = If(which) <then_branch = a () => (float[2] p) { p = Neg(t) },
                     else_branch = b () => (float[2] q) { q = Exp(t) }> }"""
_FUNCTIONS = """g (float[1, 4] x) => (float[1, 4] y) { t = my.twice<scale = 3.0>(x, x)  y = Mish(t) }"""
_BODIES = """<domain: "my", opset_import: ["": 18]> twice <scale: float = 2.0> (a, b) => (c) {
  k = Constant<value_float: float = @scale>()  m = Mul(a, k)  c = Add(m, b) }"""


def bases() -> list[bytes]:
    """The files' contents, in a fixed order."""
    image = OnnxBuilder(1)
    x = image.input("image", (1, 3, 8, 8))
    y = image.node("Conv", x, image.weights(4, 3, 3, 3), image.weights(4), pads=[1, 1, 1, 1], strides=[2, 2])
    y = image.node("MaxPool", image.node("Clip", y), kernel_shape=[2, 2], strides=[2, 2])
    y = image.node("Concat", y, image.node("HardSwish", y), axis=1)
    y = image.node("Resize", y, "", image.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear")
    y = image.node("Pad", y, image.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1])))
    y = image.node("Softmax", image.node("ReduceMean", y, axes=[2, 3], keepdims=0))
    image.output(y)
    sequence = OnnxBuilder(2)
    x = sequence.input("sound", (5, 1, 3))
    y, h = sequence.node(
        "GRU", x, sequence.weights(1, 12, 3), sequence.weights(1, 12, 4), outputs=2, hidden_size=4
    )
    y = sequence.node("Squeeze", y, sequence.constant(np.array([1])))
    y = sequence.node("LayerNormalization", y, sequence.weights(4), sequence.weights(4))
    y = sequence.node("Slice", y, *(sequence.constant(np.array([value])) for value in (1, 4, 2)))
    parts = sequence.node("Split", y, outputs=2, axis=2)
    y = sequence.node("Where", sequence.node("Greater", *parts), *parts)
    sequence.output(sequence.node("Einsum", y, y, equation="bij,bkj->bik"), (2, 1, 1))
    sequence.output(h, (1, 1, 4))
    texts = [model_of(_SHAPES, opset=18), model_of(_FUNCTIONS, opset=18, more=', "my": 1', functions=_BODIES)]
    made = [image.model(), sequence.model(), *texts]
    found = [model.SerializeToString() for model in made]
    if SHARED.is_dir():
        found += [(SHARED / name).read_bytes() for name in SHARED_SMALL]
    return found
