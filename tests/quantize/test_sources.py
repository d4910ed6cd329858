"""Where samples come from, and what users read when they do not fit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import DType
from tinydeploy.quantize.samples import Port, Samples, from_arrays
from tinydeploy.quantize.sources import open_any, open_data

IMAGE = Port("x", (1, 4, 4, 3), DType.FLOAT32)
PAIR = (Port("a", (1, 2), DType.FLOAT32), Port("b", (1, 3), DType.FLOAT32))


def numbers(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def firsts(samples: Samples) -> list[float]:
    return [float(sample[0].reshape(-1)[0]) for sample in samples]


@pytest.mark.parametrize("shape", [(5, 4, 4, 3), (5, 1, 4, 4, 3)])
def test_stacks_are_samples(shape: tuple[int, ...]) -> None:
    samples = from_arrays([numbers(*shape)], [IMAGE])
    assert samples.count == 5
    assert firsts(samples) == firsts(samples) == [0, 48, 96, 144, 192]
    assert all(sample[0].shape == (1, 4, 4, 3) for sample in samples)


def test_batches_are_as_many_samples() -> None:
    one = from_arrays([numbers(16, 1, 4, 4, 3)], [IMAGE])
    eight = from_arrays([numbers(2, 8, 4, 4, 3)], [IMAGE])
    assert firsts(one) == firsts(eight)


def test_one_sample_alone() -> None:
    assert from_arrays([numbers(4, 4, 3)], [IMAGE]).count == 1


def test_bytes_are_numbers() -> None:
    (sample,) = from_arrays([np.full((1, 4, 4, 3), 255, np.uint8)], [IMAGE])
    assert sample[0].dtype == np.float32
    assert sample[0].max() == 255.0


def test_npz_is_streamed_by_name_or_by_place(tmp_path: Path) -> None:
    for names in (("a", "b"), ("in0", "in1")):
        path = tmp_path / f"{names[0]}.npz"
        arrays = {names[0]: numbers(4, 2), names[1]: numbers(4, 3)}
        np.savez_compressed(path, allow_pickle=False, **arrays)
        samples = open_data(path, PAIR)
        assert samples.count == 4
        assert [sample[1].tolist() for sample in samples][3] == [[9, 10, 11]]
        assert len(list(samples)) == 4


def test_an_array_of_an_npz_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, train=numbers(2, 4, 4, 3), labels=np.arange(2))
    assert open_data(f"{path}:train", [IMAGE]).count == 2
    with pytest.raises(TinyDeployError, match=r"has no array 'test'; it holds 'train' float32\[2, 4, 4, 3\]"):
        open_data(f"{path}:test", [IMAGE])
    with pytest.raises(
        TinyDeployError, match=r"Name the arrays like the inputs .* or choose one: .*npz:ARRAY"
    ):
        open_data(path, [IMAGE])


def test_a_folder_of_bins_npys_or_npzs(tmp_path: Path) -> None:
    for kind in ("bin", "npy", "npz"):
        folder = tmp_path / kind
        folder.mkdir()
        for index in range(3):
            array = np.full((1, 4, 4, 3), index, np.int8)
            path = folder / f"s{index}.{kind}"
            if kind == "bin":
                path.write_bytes(array.tobytes())
            elif kind == "npy":
                np.save(path, array)
            else:
                np.savez(path, x=array)
        assert firsts(open_data(folder, [IMAGE], DType.INT8)) == [0, 1, 2]


def test_a_function_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "calib_for_test.py").write_text(
        "import numpy as np\ndef rows():\n    for i in range(3):\n        yield np.full((4, 4, 3), i)\n"
    )
    monkeypatch.chdir(tmp_path)
    samples = open_data("calib_for_test:rows", [IMAGE])
    assert firsts(samples) == firsts(samples) == [0, 1, 2]
    assert str(tmp_path) not in sys.path
    with pytest.raises(TinyDeployError, match=r"the module has no function 'cols'. Name a function"):
        open_data("calib_for_test:cols", [IMAGE])
    with pytest.raises(TinyDeployError, match="the module cannot be imported: No module named 'absent_'"):
        open_data("absent_:rows", [IMAGE])


def test_python_values_are_taken() -> None:
    assert open_any(numbers(2, 4, 4, 3), [IMAGE]).count == 2
    assert open_any({"a": numbers(2, 2), "b": numbers(2, 3)}, PAIR).count == 2
    assert firsts(open_any(lambda: iter([numbers(4, 4, 3)] * 2), [IMAGE])) == [0, 0]
    mapping = lambda: iter([{"a": numbers(2), "b": numbers(3)}])  # noqa: E731
    assert len(list(open_any(mapping, PAIR))) == 1


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            numbers(2, 3, 4, 4),
            r"'x' have shape \[2, 3, 4, 4\], allowed: \[N, 4, 4, 3\]; channels come first in",
        ),
        (numbers(2, 5), r"'x' have shape \[2, 5\], allowed: \[N, 4, 4, 3\]. Reshape the samples"),
        (np.zeros((0, 4, 4, 3)), "holds no sample. Give at least one"),
        (np.full((1, 4, 4, 3), np.nan), "sample 0: the input 'x' holds NaN. Clean the calibration data"),
        (np.full((1, 4, 4, 3), np.inf), "the input 'x' holds an infinity"),
        (np.full((1, 4, 4, 3), 1e300), "the input 'x' holds a number beyond float32"),
        (np.zeros((1, 4, 4, 3), complex), "the input 'x' got complex128, allowed: numbers"),
    ],
)
def test_what_does_not_fit_is_said(
    array: np.ndarray[tuple[int, ...], np.dtype[np.float64]], message: str
) -> None:
    with pytest.raises(TinyDeployError, match=message):
        list(from_arrays([array], [IMAGE]))


def test_counts_must_agree(tmp_path: Path) -> None:
    wanted = "different numbers of samples: 'a' has 2, 'b' has 3. Give as many of each"
    with pytest.raises(TinyDeployError, match=wanted):
        from_arrays([numbers(2, 2), numbers(3, 3)], PAIR)
    np.savez(tmp_path / "x.npz", a=numbers(2, 2), b=numbers(3, 3))
    with pytest.raises(TinyDeployError, match=wanted):
        open_data(tmp_path / "x.npz", PAIR)
    with pytest.raises(TinyDeployError, match="1 arrays, the model has 2 inputs"):
        from_arrays([numbers(2, 2)], PAIR)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no archive")
    (tmp_path / "x.npy").write_bytes(b"no array")
    (tmp_path / "x.txt").write_text("text")
    np.savez(tmp_path / "o.npz", x=np.array([{}], object), allow_pickle=True)
    np.savez(tmp_path / "f.npz", x=np.asfortranarray(numbers(2, 4, 4, 3)))
    for name, message in {
        "x.npz": "cannot be read as an .npz file: ",
        "x.npy": "cannot be read as an .npy file: ",
        "x.txt": "samples cannot be read from .txt. Allowed: an .npz or .npy file",
        "o.npz": "the array 'x' holds Python objects. Store plain numbers",
        "f.npz": "the array 'x' is stored column by column. Store it with numpy.ascontiguousarray",
        "absent": "no such file or folder. Allowed: an .npz or .npy file",
    }.items():
        with pytest.raises(TinyDeployError, match=message):
            open_data(tmp_path / name, [IMAGE])


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match=r"holds no sample files. Allowed: files of one kind"):
        open_data(tmp_path, [IMAGE])
    (tmp_path / "a.bin").write_bytes(b"12")
    with pytest.raises(TinyDeployError, match=r"has 2 bytes, a sample of float32\[1, 4, 4, 3\] has 192"):
        list(open_data(tmp_path, [IMAGE]))
    with pytest.raises(TinyDeployError, match=r".bin files hold one input, the model has 2"):
        open_data(tmp_path, PAIR)
    np.save(tmp_path / "b.npy", numbers(2))
    with pytest.raises(TinyDeployError, match=r"holds .bin and .npy files"):
        open_data(tmp_path, [IMAGE])


def test_a_generator_without_samples() -> None:
    with pytest.raises(TinyDeployError, match=r"yields no sample. Yield at least one"):
        list(open_any(lambda: iter(()), [IMAGE]))
    with pytest.raises(TinyDeployError, match=r"1 arrays, the model has 2 inputs. Yield one array per input"):
        list(open_any(lambda: iter([numbers(2)]), PAIR))
    with pytest.raises(TinyDeployError, match="sample 0: has no array 'b'"):
        list(open_any(lambda: iter([{"a": numbers(2)}]), PAIR))
