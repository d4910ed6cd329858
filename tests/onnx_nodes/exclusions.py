"""Which of ONNX's node tests do not count, and why: data, so that the list can be argued with.

A test counts (is eligible) unless one of its element types, its kind of values or its operators is listed
here. Tests that tinydeploy fails are no reason for a line.
"""

from __future__ import annotations

from onnx import TensorProto

_HALF = "half precision: microcontrollers without FP16 would compute in float32"
_FLOAT8 = "8-bit and 4-bit floats: formats of accelerators"
_SUB_BYTE = "integers of 2 and 4 bits as activations: they exist as packed weights only"

TYPES: dict[int, str] = {
    TensorProto.DOUBLE: "double precision: generated C has no double",
    TensorProto.FLOAT16: _HALF,
    TensorProto.BFLOAT16: _HALF,
    TensorProto.FLOAT8E4M3FN: _FLOAT8,
    TensorProto.FLOAT8E4M3FNUZ: _FLOAT8,
    TensorProto.FLOAT8E5M2: _FLOAT8,
    TensorProto.FLOAT8E5M2FNUZ: _FLOAT8,
    TensorProto.FLOAT8E8M0: _FLOAT8,
    TensorProto.FLOAT4E2M1: _FLOAT8,
    TensorProto.INT4: _SUB_BYTE,
    TensorProto.UINT4: _SUB_BYTE,
    TensorProto.INT2: _SUB_BYTE,
    TensorProto.UINT2: _SUB_BYTE,
    TensorProto.COMPLEX64: "complex numbers",
    TensorProto.COMPLEX128: "complex numbers",
    TensorProto.STRING: "strings",
    TensorProto.UINT64: "unsigned 64-bit integers: no network computes with them",
}
"""Element types of inputs, outputs, constants, and of the results of Cast."""

KINDS: dict[str, str] = {
    "sequence_type": "sequences: their length is known at run time only",
    "optional_type": "optionals",
    "map_type": "maps",
    "sparse_tensor_type": "sparse tensors",
}
"""Kinds of values that are no tensors."""

DOMAINS: dict[str, str] = {
    "ai.onnx.preview.training": "training",
    "ai.onnx.ml": "classical machine learning: trees, encoders of categories, support vectors",
}

OPERATORS: dict[str, str] = {
    "Bernoulli": "random: there is no right answer to compare with",
    "Multinomial": "random: there is no right answer to compare with",
    "OptionalGetElement": "optionals",
    "OptionalHasElement": "optionals",
    "RandomNormal": "random: there is no right answer to compare with",
    "RandomNormalLike": "random: there is no right answer to compare with",
    "RandomUniform": "random: there is no right answer to compare with",
    "RandomUniformLike": "random: there is no right answer to compare with",
    "ImageDecoder": "decodes JPEG and other files",
    "NegativeLogLikelihoodLoss": "training: a loss",
    "SoftmaxCrossEntropyLoss": "training: a loss",
    "StringConcat": "strings",
    "StringNormalizer": "strings",
    "StringSplit": "strings",
    "RegexFullMatch": "strings",
    "TfIdfVectorizer": "strings",
}

TESTS: dict[str, str] = {
    "test_batchnorm_epsilon_training_mode": "training",
    "test_batchnorm_example_training_mode": "training",
    "test_training_dropout": "training: random",
    "test_training_dropout_default": "training: random",
    "test_training_dropout_default_mask": "training: random",
    "test_training_dropout_mask": "training: random",
    "test_training_dropout_zero_ratio": "training",
    "test_training_dropout_zero_ratio_mask": "training",
}
"""Single tests, by name."""

BOUND: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "Col2Im": (1, 2),
    "Compress": (1,),
    "ConstantOfShape": (0,),
    "ConvInteger": (1, 2, 3),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "DequantizeLinear": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "If": (0,),
    "Loop": (0, 1),
    "MatMulInteger": (2, 3),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "QuantizeLinear": (1, 2),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Inputs that are bound to the test's own values before import: what networks give as constants, since it
determines shapes, or scales and weights of integers."""
