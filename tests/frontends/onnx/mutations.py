"""Damage to ONNX files: to their structure, most of it, and to their bytes."""

from __future__ import annotations

import random
from collections.abc import Callable

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

Change = Callable[[random.Random, ModelProto], None]

NUMBERS = (0, 1, -1, 2, 3, 7, 64, 255, 4096, 65_537, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))
FLOATS = (0.0, -1.0, 1e30, float("inf"), float("nan"), 0.5, 3.0)
NAMES = ("", "x", "y", "\x00", "a" * 300, "\u202e*/", "../../etc/passwd")
OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain})


def _pick(rng: random.Random, items: object) -> object | None:
    found = list(items)  # type: ignore[call-overload]
    return rng.choice(found) if found else None


def _graph(rng: random.Random, model: ModelProto) -> GraphProto:
    """The main graph, or now and then a branch inside it."""
    graph = model.graph
    inner = [a.g for node in graph.node for a in node.attribute if a.type == AttributeProto.GRAPH]
    return rng.choice(inner) if inner and rng.random() < 0.3 else graph


def drop_node(rng: random.Random, model: ModelProto) -> None:
    nodes = _graph(rng, model).node
    if nodes:
        del nodes[rng.randrange(len(nodes))]


def repeat_node(rng: random.Random, model: ModelProto) -> None:
    nodes = _graph(rng, model).node
    if nodes:
        nodes.add().CopyFrom(rng.choice(nodes))


def swap_nodes(rng: random.Random, model: ModelProto) -> None:
    nodes = list(_graph(rng, model).node)
    if len(nodes) > 1:
        first, second = rng.sample(range(len(nodes)), 2)
        kept = onnx.NodeProto()
        kept.CopyFrom(nodes[first])
        nodes[first].CopyFrom(nodes[second])
        nodes[second].CopyFrom(kept)


def change_operator(rng: random.Random, model: ModelProto) -> None:
    nodes = _graph(rng, model).node
    if nodes:
        node = rng.choice(nodes)
        node.op_type = rng.choice(OPERATORS)
        if rng.random() < 0.1:
            node.domain = rng.choice(("com.microsoft", "ai.onnx", "my"))


def rename(rng: random.Random, model: ModelProto) -> None:
    graph = _graph(rng, model)
    if not graph.node:
        return
    node = rng.choice(graph.node)
    names = [*NAMES, *(name for other in graph.node for name in (*other.input, *other.output))]
    side = node.input if rng.random() < 0.7 else node.output
    if side:
        side[rng.randrange(len(side))] = rng.choice(names)
    elif rng.random() < 0.5:
        side.append(rng.choice(names))


def add_or_drop_operand(rng: random.Random, model: ModelProto) -> None:
    graph = _graph(rng, model)
    if graph.node:
        node = rng.choice(graph.node)
        side = node.input if rng.random() < 0.7 else node.output
        if side and rng.random() < 0.6:
            del side[rng.randrange(len(side))]
        else:
            side.append(rng.choice([*(t.name for t in graph.initializer), "extra", ""]))


def change_attribute(rng: random.Random, model: ModelProto) -> None:
    attributes = [a for node in _graph(rng, model).node for a in node.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    what = rng.random()
    if what < 0.15:
        attribute.type = rng.choice(list(AttributeProto.AttributeType.values()))
    elif what < 0.3:
        attribute.name = rng.choice(("axis", "axes", "perm", "kernel_shape", "to", "value", "\x00"))
    elif attribute.ints:
        position = rng.randrange(len(attribute.ints))
        attribute.ints[position] = rng.choice(NUMBERS)
        if rng.random() < 0.4:
            attribute.ints.append(rng.choice(NUMBERS))
        elif rng.random() < 0.3:
            del attribute.ints[position]
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice((b"", b"\xff\xfe", b"SAME_UPPER", b"linear"))
    elif attribute.type == AttributeProto.TENSOR:
        _damage(rng, attribute.t)
    else:
        attribute.i = rng.choice(NUMBERS)


def add_attribute(rng: random.Random, model: ModelProto) -> None:
    nodes = _graph(rng, model).node
    if nodes:
        node = rng.choice(nodes)
        schema = onnx.defs.get_schema(node.op_type) if node.op_type in OPERATORS else None
        names = [*schema.attributes, "axis"] if schema else ["axis"]
        node.attribute.append(onnx.helper.make_attribute(rng.choice(names), rng.choice(NUMBERS)))


def change_dimension(rng: random.Random, model: ModelProto) -> None:
    graph = model.graph
    infos = [*graph.input, *graph.output, *graph.value_info]
    shapes = [info.type.tensor_type.shape for info in infos if info.type.tensor_type.shape.dim]
    if shapes:
        dim = rng.choice(rng.choice(shapes).dim)
        if rng.random() < 0.2:
            dim.dim_param = rng.choice(("N", "seq", ""))
        else:
            dim.dim_value = rng.choice(NUMBERS)


def change_type(rng: random.Random, model: ModelProto) -> None:
    infos = [*model.graph.input, *model.graph.output]
    if infos:
        info = rng.choice(infos)
        if rng.random() < 0.2:
            info.type.Clear()
        else:
            info.type.tensor_type.elem_type = rng.randrange(0, 30)


def change_initializer(rng: random.Random, model: ModelProto) -> None:
    if model.graph.initializer:
        tensor = rng.choice(model.graph.initializer)
        if rng.random() < 0.15:
            tensor.name = rng.choice(NAMES)
        else:
            _damage(rng, tensor)


def _damage(rng: random.Random, tensor: TensorProto) -> None:
    what = rng.random()
    if what < 0.3 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(NUMBERS)
    elif what < 0.4:
        tensor.dims.append(rng.choice((1, 0, 2)))
    elif what < 0.5:
        del tensor.dims[:]
    elif what < 0.65:
        tensor.data_type = rng.randrange(0, 30)
    elif what < 0.8 and tensor.raw_data:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data))]
    elif what < 0.9 and tensor.raw_data:
        data = bytearray(tensor.raw_data)
        for _ in range(4):
            data[rng.randrange(len(data))] = rng.randrange(256)
        tensor.raw_data = bytes(data)
    else:
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=rng.choice(NAMES))


def change_versions(rng: random.Random, model: ModelProto) -> None:
    what = rng.random()
    if what < 0.6 and model.opset_import:
        model.opset_import[0].version = rng.choice((*range(1, 30), 1 << 40, -1))
    elif what < 0.8:
        del model.opset_import[:]
    else:
        model.ir_version = rng.choice((0, 3, 99))


CHANGES: tuple[Change, ...] = (
    drop_node,
    repeat_node,
    swap_nodes,
    change_operator,
    rename,
    rename,
    add_or_drop_operand,
    change_attribute,
    change_attribute,
    add_attribute,
    change_dimension,
    change_dimension,
    change_type,
    change_initializer,
    change_initializer,
    change_versions,
)


def mutate(seed: int, data: bytes) -> tuple[bytes, bool]:
    """(the broken file, whether its structure was changed rather than its bytes)."""
    rng = random.Random(seed)
    if rng.random() < 0.15:
        return _bytes(rng, data), False
    model = ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(CHANGES)(rng, model)
    return model.SerializeToString(), True


def _bytes(rng: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    what = rng.random()
    if what < 0.3:
        return bytes(broken[: rng.randrange(len(broken))])
    if what < 0.6:
        start = rng.randrange(len(broken))
        del broken[start : start + rng.randrange(1, 40)]
        return bytes(broken)
    for _ in range(rng.randrange(1, 6)):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken)
