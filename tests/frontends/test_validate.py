"""The structural verifier: what it refuses, in which words, and that its work is bounded by the file."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.frontends.flatbuffer_map import FileMap, map_of
from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import ModelError
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.frontends.tflite.schema import MODEL, Table, TableRef, Tables, Union
from tinydeploy.frontends.tflite.validate import validate


def sound() -> bytes:
    return ModelBuilder().input((1, 4, 4, 2)).conv2d(3).average_pool((4, 4)).reshape((1, 3)).build()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"TFL", "it has only 3 bytes"),
        (b"PK\x03\x04" + b"\0" * 40, "a zip archive (a PyTorch or Keras file?)"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 40, "an HDF5 file (a Keras .h5?)"),
        (b"\x1f\x8b\x08" + b"\0" * 40, "a gzip archive"),
        (b"\x80\x04\x95" + b"\0" * 40, "a Python pickle"),
        (b"\x7fELF" + b"\0" * 40, "an ELF program"),
        (b"\x93NUMPY\x01" + b"\0" * 40, "a numpy array"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer: the file itself was not fetched"),
        (b"<!DOCTYPE html><html></html>", "an HTML page"),
        (
            b"\x08\x08\x12\x07pytorch\x1a\x032.1",
            "a protocol buffer (an ONNX file or a TensorFlow SavedModel?)",
        ),
        (b"# a model, in words\n" * 4, "it looks like text"),
        (bytes(range(200, 240)), "it begins with c8 c9 ca cb cc cd ce cf and has no identifier TFL3"),
    ],
)
def test_other_files_are_recognised(data: bytes, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_bytes(data, "x.tflite")
    assert str(caught.value).startswith("x.tflite: not a TFLite file: ")
    assert words in str(caught.value)


def patched(data: bytes, position: int, form: str, value: int) -> bytes:
    broken = bytearray(data)
    struct.pack_into(form, broken, position, value)
    return bytes(broken)


def vtable_of(data: bytes, table: int) -> int:
    return table - int(struct.unpack_from("<i", data, table)[0])


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (lambda d, m: patched(d, 0, "<I", 0), "the offset to the root at 0 is 0"),
        (
            lambda d, m: patched(d, 0, "<I", 0xFFFFFFFF),
            "Model at 4294967295 with 4 bytes is outside the file",
        ),
        (lambda d, m: d[:40], "is outside the file of 40 bytes"),
        (lambda d, m: patched(d, m.tables[0], "<i", 1 << 30), "the vtable of Model at -"),
        (
            lambda d, m: patched(d, vtable_of(d, m.tables[0]), "<H", 3),
            "claims 3 bytes",
        ),
        (
            lambda d, m: patched(d, vtable_of(d, m.tables[0]) + 2, "<H", 0xFFFF),
            f"with {0xFFFF} bytes is outside the file",
        ),
        (
            lambda d, m: patched(d, vtable_of(d, m.tables[0]) + 6, "<H", 0x7FFF),
            "field 1 of Model at",
        ),
        (lambda d, m: patched(d, m.lengths[0], "<I", 0xFFFFFFFF), "is outside the file of"),
        (lambda d, m: patched(d, m.offsets[2], "<I", 0), "is 0. Export or download the model again"),
    ],
)
def test_broken_structure_is_named(breaking: Callable[[bytes, FileMap], bytes], words: str) -> None:
    data = sound()
    with pytest.raises(ModelError, match="damaged TFLite file: ") as caught:
        load_bytes(breaking(data, map_of(data)), "m")
    assert words in str(caught.value)


def test_every_prefix_of_a_file_is_refused() -> None:
    data = sound()
    for size in range(len(data)):
        with pytest.raises(ModelError):
            load_bytes(data[:size], "m")


def test_a_sound_file_passes() -> None:
    validate(sound(), "m")


def test_the_schema_has_no_cycle_so_depth_is_bounded() -> None:
    def depth(table: Table, above: tuple[str, ...] = ()) -> int:
        assert table.name not in above
        below = [0]
        for _, field in table.fields:
            if isinstance(field, TableRef | Tables):
                below.append(depth(field.table, (*above, table.name)))
            elif isinstance(field, Union):
                below += [depth(member, (*above, table.name)) for _, member in field.members]
        return 1 + max(below)

    assert depth(MODEL) == 4


def refused_quickly(data: bytes, words: str) -> None:
    """Refused with ``words``, in far less time than the described work would take."""
    start = time.process_time()
    with pytest.raises(ModelError, match=words):
        load_bytes(data, "m")
    assert time.process_time() - start < 5.0


def shared_vectors(operators: int, inputs: int) -> bytes:
    """A file whose operators share one long vector of inputs."""
    builder = flatbuffers.Builder(1024)

    def tables(start: Callable[..., int], offsets: Sequence[int]) -> int:
        start(builder, len(offsets))
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())

    vector = builder.CreateNumpyVector(np.zeros(inputs, np.int32))
    made = []
    for _ in range(operators):
        schema.OperatorStart(builder)
        schema.OperatorAddInputs(builder, vector)
        made.append(schema.OperatorEnd(builder))
    all_operators = tables(schema.SubGraphStartOperatorsVector, made)
    schema.TensorStart(builder)
    tensors = tables(schema.SubGraphStartTensorsVector, [schema.TensorEnd(builder)])
    schema.SubGraphStart(builder)
    schema.SubGraphAddTensors(builder, tensors)
    schema.SubGraphAddOperators(builder, all_operators)
    graphs = tables(schema.ModelStartSubgraphsVector, [schema.SubGraphEnd(builder)])
    schema.OperatorCodeStart(builder)
    codes = tables(schema.ModelStartOperatorCodesVector, [schema.OperatorCodeEnd(builder)])
    schema.ModelStart(builder)
    schema.ModelAddVersion(builder, 3)
    schema.ModelAddSubgraphs(builder, graphs)
    schema.ModelAddOperatorCodes(builder, codes)
    builder.Finish(schema.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def test_a_vector_that_many_operators_share_does_not_multiply_work() -> None:
    refused_quickly(shared_vectors(5000, 50_000), "it describes more objects than its size has room for")


def test_a_vector_that_a_few_operators_share_is_fine() -> None:
    validate(shared_vectors(5, 100), "m")


def test_a_constant_read_by_many_operators_does_not_multiply_work() -> None:
    builder = ModelBuilder().input((1, 1, 1, 600)).conv2d(600, (1, 1))
    first = builder.operators[0]
    for _ in range(200):
        source = builder.current
        result = builder.tensor((1, 1, 1, 600))
        builder.operator("CONV_2D", [source, *first.inputs[1:]], [result], first.builtinOptions)
    refused_quickly(
        builder.build(), "its operators read [0-9]+ bytes of constants, too many for [0-9]+ bytes"
    )


def test_names_that_all_tensors_share_are_cut() -> None:
    builder = ModelBuilder().input((1, 4), name="n" * 5000)
    graph = load_bytes(builder.softmax(name="m" * 1000).build(), "m")
    assert graph.values[0].name == "n" * 997 + "..."
    assert graph.values[1].name == "m" * 1000
