"""Tensor data: every form it may have, and what is wrong with a damaged one; files beside the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.making import model_of, run
from tinydeploy.errors import ModelError
from tinydeploy.frontends import load
from tinydeploy.frontends.onnx.tensors import TensorError, array_of

TYPES = (
    "float32",
    "float64",
    "float16",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
)


@pytest.mark.parametrize("dtype", [*TYPES, "uint64"])
@pytest.mark.parametrize("raw", [True, False])
def test_every_type_in_both_forms(dtype: str, raw: bool) -> None:
    array = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    data = array.tobytes() if raw else array.reshape(-1).tolist()
    got = array_of(helper.make_tensor("t", number, array.shape, data, raw=raw))
    assert got.dtype == array.dtype
    assert np.array_equal(got, array)


@pytest.mark.parametrize("number", [TensorProto.INT4, TensorProto.UINT4])
def test_four_bits(number: int) -> None:
    got = array_of(helper.make_tensor("t", number, (3,), [1, 7, 3]))
    assert got.astype(np.int32).tolist() == [1, 7, 3]


def test_scalars_and_tensors_without_elements() -> None:
    assert array_of(numpy_helper.from_array(np.array(2, np.float32))).shape == ()
    assert array_of(TensorProto(data_type=TensorProto.FLOAT, dims=[0])).shape == (0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dims": [2, 3]}, r"16 bytes of data; shape \[2, 3\] needs 24"),
        ({"dims": [-1]}, r"shape \[-1\] has a negative extent"),
        ({"dims": [1 << 40]}, "has more than 268435456 elements"),
        ({"dims": [1 << 62, 0]}, "has more than 268435456 elements"),
        ({"dims": [1] * 40}, "40 dimensions; 32 are allowed"),
        ({"data_type": TensorProto.STRING}, "element type string is not supported in constants"),
        ({"data_type": 99}, "element type number 99 is not supported in constants"),
        ({"data_type": TensorProto.DOUBLE}, r"16 bytes of data; shape \[4\] needs 32"),
    ],
)
def test_damaged_tensors(changes: dict[str, Any], message: str) -> None:
    proto = TensorProto(data_type=TensorProto.FLOAT, dims=[4], raw_data=bytes(16))
    for name, value in changes.items():
        if name == "dims":
            del proto.dims[:]
            proto.dims.extend(value)
        else:
            setattr(proto, name, value)
    with pytest.raises(TensorError, match=message):
        array_of(proto)


def test_items_that_do_not_fit() -> None:
    with pytest.raises(TensorError, match=r"3 items of data; shape \[4\] needs 4"):
        array_of(TensorProto(data_type=TensorProto.FLOAT, dims=[4], float_data=[1, 2, 3]))
    with pytest.raises(TensorError, match="an item of its data is no int8"):
        array_of(TensorProto(data_type=TensorProto.INT8, dims=[1], int32_data=[300]))
    segmented = TensorProto(data_type=TensorProto.FLOAT, dims=[1], float_data=[1])
    segmented.segment.begin = 0
    with pytest.raises(TensorError, match="segments are not supported"):
        array_of(segmented)


def external(folder: Path, **entries: object) -> Path:
    """A model of one sum whose constant [1, 2] lies in weights.bin, and what its entries say instead."""
    model = model_of("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", "offset": 4, "length": 8, **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    model.graph.initializer.append(tensor)
    folder.mkdir(exist_ok=True)
    (folder / "weights.bin").write_bytes(np.array([9, 1, 2], np.float32).tobytes())
    path = folder / "model.onnx"
    onnx.save(model, str(path))
    return path


def zeros() -> npt.NDArray[np.float32]:
    return np.zeros(2, np.float32)


def test_data_beside_the_model(tmp_path: Path) -> None:
    assert run(load(external(tmp_path / "a")), zeros())[0].tolist() == [1, 2]
    assert run(load(external(tmp_path / "b", length=None)), zeros())[0].tolist() == [1, 2]
    inside = external(tmp_path / "c", location="sub/weights.bin", offset=None)
    (tmp_path / "c" / "sub").mkdir()
    (tmp_path / "c" / "sub" / "weights.bin").write_bytes(np.array([5, 6], np.float32).tobytes())
    assert run(load(inside), zeros())[0].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "/etc/passwd"}, "is not a path inside the model's folder"),
        ({"location": "../outside.bin"}, "is not a path inside the model's folder"),
        ({"location": "a/../../outside.bin"}, "is not a path inside the model's folder"),
        ({"location": ""}, "external data '' is not a path inside the model's folder"),
        ({"location": "C:\\windows"}, "is not a path inside the model's folder"),
        ({"location": "link.bin"}, "leads out of its place through a link"),
        ({"location": "linked/weights.bin"}, "leads out of its place through a link"),
        ({"location": "missing.bin"}, "cannot be read: No such file or directory"),
        ({"location": "folder"}, "is not a regular file|cannot be read"),
        ({"location": "pipe"}, "is not a regular file"),
        ({"location": "a\0b"}, "cannot be read"),
        ({"offset": 8}, "external data 'weights.bin' has 12 bytes; 16 are needed"),
        ({"offset": -1}, "external data has the offset '-1'"),
        ({"offset": "1e3"}, "external data has the offset '1e3'"),
        ({"length": 12}, "12 bytes of external data; its shape needs 8"),
    ],
)
def test_data_elsewhere_is_refused(tmp_path: Path, entries: dict[str, object], message: str) -> None:
    path = external(tmp_path / "model", **entries)
    (tmp_path / "outside.bin").write_bytes(bytes(100))
    (tmp_path / "model" / "link.bin").symlink_to(tmp_path / "outside.bin")
    (tmp_path / "model" / "folder").mkdir()
    os.mkfifo(tmp_path / "model" / "pipe")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "weights.bin").write_bytes(bytes(100))
    (tmp_path / "model" / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match=message):
        load(path)
