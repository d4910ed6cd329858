"""Graphs of nodes side by side, straight from operators: what no front end needs to know yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.ops import OPS, Site, check


class GraphBuilder:
    """One graph in the making; every node's outputs are outputs of the graph."""

    def __init__(self, name: str = "model") -> None:
        self._edit = Rewriter.empty(name)
        self._types: dict[int, TensorType] = {}
        self._arrays: dict[int, Array] = {}

    def input(self, dtype: DType, shape: Sequence[int], quant: Quant | None = None) -> int:
        type_ = TensorType(dtype, tuple(shape), quant)
        value = self._edit.input(f"in{len(self._types)}", type_)
        self._types[value] = type_
        return value

    def constant(self, array: Array, quant: Quant | None = None) -> int:
        type_ = TensorType(DType(str(array.dtype)), array.shape, quant)
        value = self._edit.constant(f"constant{len(self._types)}", type_, array)
        self._types[value], self._arrays[value] = type_, array
        return value

    def node(
        self, attrs: Attrs, *inputs: int | None, quant: Quant | None = None, output: bool = True
    ) -> tuple[int, ...]:
        """Add a node; its types are inferred and its limits asked, as front ends do."""
        types = tuple(None if value is None else self._types[value] for value in inputs)
        arrays = tuple(None if value is None else self._arrays.get(value) for value in inputs)
        inferred = OPS[type(attrs).__name__].infer(Site("n", attrs, types, (), arrays))
        outputs = tuple(
            TensorType(type_.dtype, type_.shape, quant if quant is not None else type_.quant)
            for type_ in inferred
        )
        found = check.gaps(Site("n", attrs, types, outputs, arrays))
        if found:
            raise ValueError(f"{attrs}: {found}")
        named = tuple((f"value{len(self._types)}_{k}", type_) for k, type_ in enumerate(outputs))
        values = self._edit.node(f"{type(attrs).__name__}{len(self._types)}", attrs, inputs, named)
        self._types.update(zip(values, outputs, strict=True))
        for value in values if output else ():
            self._edit.output(value)
        return values

    def freeze(self) -> Graph:
        graph = self._edit.freeze()
        check.verify(graph)
        return graph


def numbers(dtype: DType, shape: Sequence[int], seed: int = 0) -> Array:
    """Numbers of a type, small enough that sums keep their meaning."""
    drawn = np.random.default_rng(seed).integers(-9, 10, tuple(shape))
    if dtype is DType.BOOL:
        return drawn > 0
    if dtype is DType.FLOAT32:
        return (drawn / 4).astype(np.float32)
    return np.abs(drawn).astype(dtype.numpy) if dtype.limits[0] == 0 else drawn.astype(dtype.numpy)
