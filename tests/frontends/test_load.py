"""``load`` and ``survey`` on paths: the format by content, and what is said of paths that are no model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.shared_data import SHARED, needs_shared
from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import MAX_FILE_BYTES, load, survey


def test_the_content_says_the_format_and_the_path_the_name(tmp_path: Path) -> None:
    path = tmp_path / "my net.bin"
    path.write_bytes(ModelBuilder().input((1, 4)).softmax().build())
    assert load(path).name == "my net"
    assert load(str(path)) == survey(path).graph


def test_gaps_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    builder = ModelBuilder().input((1, 4))
    path.write_bytes(builder.operator("RFFT2D", [0], [builder.tensor((1, 4), name="n")]).build())
    assert [gap.op for gap in survey(path).gaps] == ["RFFT2D"]
    with pytest.raises(UnsupportedError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: 1 node is not supported\n  n (RFFT2D): the operator is not")


@pytest.mark.parametrize("content", [b"", b"hello, this is text", b"\x08\x08\x12\x07pytorch"])
def test_other_formats(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: not a model file that is supported: ")
    assert "Supported: TensorFlow Lite (.tflite), ONNX (.onnx)" in str(caught.value)


def test_paths_that_are_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TinyDeployError, match="is a directory, not a model file"):
        load(tmp_path)
    with pytest.raises(TinyDeployError, match=r"absent\.tflite: no such file\. Check the path"):
        load(tmp_path / "absent.tflite")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(TinyDeployError, match="pipe: is not a regular file"):
        load(pipe)
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, MAX_FILE_BYTES + 1)
    with pytest.raises(TinyDeployError, match=f"large: has 1073741825 bytes; {MAX_FILE_BYTES} are allowed"):
        load(large)

    def refuse(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    locked = tmp_path / "locked"
    locked.write_text("x")
    with pytest.raises(TinyDeployError, match="locked: cannot be read: Permission denied"):
        load(locked)


@needs_shared
def test_every_real_file_loads_or_says_what_it_lacks() -> None:
    paths = sorted(path for path in SHARED.rglob("*.tflite"))
    assert len(paths) > 40
    refused = {path.name for path in paths if survey(path).graph is None}
    assert refused == {"tflm_audio_preprocessor_int8.tflite", "tflm_person_detect_vela.tflite"}
