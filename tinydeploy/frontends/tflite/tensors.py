"""The types of tensors, and what keeps a tensor from having one."""

from __future__ import annotations

from tinydeploy.frontends.tflite.model import Tensor
from tinydeploy.ir import TensorType

RECONVERT = "convert the model with full int8 quantization"


def type_of(tensor: Tensor) -> TensorType:
    """The type of a tensor that has no gaps."""
    if tensor.dtype is None:
        raise ValueError(f"{tensor.label} has no type of ours")
    return TensorType(tensor.dtype, tensor.shape, tensor.quant)


def tensor_gaps(tensor: Tensor) -> list[tuple[str, str]]:
    """(reason, remedy) of all that a tensor needs and we lack."""
    found: list[tuple[str, str]] = []
    if tensor.dtype is None:
        found.append((f"{tensor.label} has the element type {tensor.type_name}", RECONVERT))
    if tensor.dynamic:
        axes = ", ".join(map(str, tensor.dynamic))
        found.append(
            (
                f"{tensor.label} has an extent that is known at run time only (dimension {axes})",
                "export the model with a fixed input shape",
            )
        )
    if tensor.sparse:
        found.append((f"{tensor.label} is sparse", "convert the model without sparsity"))
    if tensor.custom_quantization:
        found.append((f"{tensor.label} has a custom quantization", RECONVERT))
    if 0 in tensor.shape:
        found.append((f"{tensor.label} has no elements", "remove it from the model"))
    return found
