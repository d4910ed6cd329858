"""Scores against figures by hand, labels from every kind of file, and what is said where they do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import DType, Quant, Rewriter, TensorType
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.ops.relu import Relu
from tinydeploy.verify.closeness import distance
from tinydeploy.verify.float_meaning import float_meaning
from tinydeploy.verify.labels import load_labels
from tinydeploy.verify.metrics import Metric, real, score

OUTPUTS = [np.array([[0.1, 0.9, 0.0]]), np.array([[0.5, 0.2, 0.3]]), np.array([[0.0, 0.1, 0.9]])]
ONES = [np.zeros((1, 4))] * 3
FLOAT = TensorType(DType.FLOAT32, (3,))


def test_top1() -> None:
    assert score(Metric.TOP1, OUTPUTS, ONES, np.array([1.0, 1.0, 2.0])) == pytest.approx(2 / 3)


def test_auc_is_the_share_of_pairs_in_order() -> None:
    generator = np.random.default_rng(1)
    scores = np.round(generator.standard_normal(50), 1)
    labels = (generator.random(50) < 0.4).astype(np.float64)
    outputs = [np.array([[0.0, value]]) for value in scores]
    found = score(Metric.AUC, outputs, [np.zeros((1, 9))] * 50, labels)
    pairs = scores[labels == 1][:, None] - scores[labels == 0]
    assert found == pytest.approx(np.mean((np.sign(pairs) + 1) / 2))


def test_auc_of_an_autoencoder_is_that_of_its_errors() -> None:
    inputs = [np.full((1, 8), value) for value in (1.0, 2.0, 3.0)]
    outputs = [np.ones((1, 8))] * 3
    assert score(Metric.AUC, outputs, inputs, np.array([0.0, 1.0, 1.0])) == 1
    assert score(Metric.AUC, outputs, inputs, np.array([1.0, 0.0, 0.0])) == 0


def test_mae() -> None:
    labels = np.array([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3], [0.0, 0.1, 0.0]])
    assert score(Metric.MAE, OUTPUTS, ONES, labels) == pytest.approx(0.1)


def test_real_numbers_of_a_quantized_type() -> None:
    per_axis = TensorType(DType.INT8, (2, 1), Quant((0.5, 2.0), (1, 0), 0))
    assert real(np.array([[3], [4]], np.int8), per_axis).tolist() == [[1.0], [8.0]]


@pytest.mark.parametrize(
    ("metric", "labels", "message"),
    [
        (
            Metric.TOP1,
            [0.0, 1.0, 3.0],
            "metric top1 needs one class from 0 to 2 for each sample; got shape [3]",
        ),
        (Metric.TOP1, [0.0, 0.5, 1.0], "values 0 to 1. Give the classes' numbers"),
        (
            Metric.AUC,
            [0.0, 1.0, 1.0],
            "needs 1 or 2 outputs, or as many as there are inputs; got 3 outputs, 4",
        ),
        (Metric.MAE, [0.0, 1.0, 1.0], "metric mae needs 3 numbers for each sample; got shape [3]"),
    ],
)
def test_labels_that_do_not_fit(metric: Metric, labels: list[float], message: str) -> None:
    with pytest.raises(TinyDeployError) as error:
        score(metric, OUTPUTS, ONES, np.array(labels))
    assert message in str(error.value)


def test_scores_that_do_not_fit() -> None:
    one = [np.zeros((1, 1))] * 3
    with pytest.raises(
        TinyDeployError, match=r"metric top1 needs a model of 2 outputs or more; got 1\. Use auc"
    ):
        score(Metric.TOP1, one, ONES, np.zeros(3))
    with pytest.raises(
        TinyDeployError, match=r"metric auc needs labels 0 and 1, each at least once; got 0\. Give"
    ):
        score(Metric.AUC, one, ONES, np.zeros(3))


@pytest.mark.parametrize(
    "text",
    [
        "2\n0\n1\n",
        "label\n2\n0\n1\n",
        "a.bin,2\nb.bin,0\nc.bin,1\n",
        "a.bin,12,2\nb.bin,12,0\nc.bin,12,1\n\n",
    ],
    ids=["numbers", "heading", "names", "mlperf"],
)
def test_labels_of_a_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "y.csv").write_text(text)
    assert load_labels(tmp_path / "y.csv", 3).tolist() == [2, 0, 1]


def test_labels_of_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.array([1, 2], np.uint8))
    np.savez(tmp_path / "y.npz", x=np.zeros(3), labels=np.array([[1.5], [2.5]]))
    (tmp_path / "rows.csv").write_text("1,2\n3,4\n")
    assert load_labels(tmp_path / "y.npy", 2).tolist() == [1, 2]
    assert load_labels(tmp_path / "y.npz", 2).tolist() == [[1.5], [2.5]]
    assert load_labels(tmp_path / "rows.csv", 2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("y.csv", "1\ncat\n", "row 2 is 'cat'; allowed are numbers, or a name and the label"),
        ("y.csv", "1\n1,2\n", "rows of 1 and 2 numbers. Give every sample as many"),
        ("y.csv", "1\n2\n3\n", "3 labels for 2 samples. Give one label for each sample"),
        ("y.csv", "1\nnan\n", "label 1 is not a finite number. Leave such samples out"),
        ("y.csv", b"\xff\xfe\x00", "cannot read the labels: 'utf-8' codec"),
        ("y.npy", "text", "cannot read the arrays"),
        ("gone.csv", None, "cannot read the labels: No such file or directory. Give a .csv, .npy or .npz"),
    ],
)
def test_labels_that_cannot_be_read(
    name: str, content: str | bytes | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TinyDeployError) as error:
        load_labels(path, 2)
    assert message in str(error.value)


def test_arrays_that_are_no_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "y.npz", a=np.zeros(2), b=np.zeros(2))
    with pytest.raises(TinyDeployError, match=r"no array of labels; the file has a, b\. Name it labels"):
        load_labels(tmp_path / "y.npz", 2)
    np.save(tmp_path / "y.npy", np.array(["a", "b"]))
    with pytest.raises(TinyDeployError, match=r"the labels are <U1\[2\]; numbers are allowed"):
        load_labels(tmp_path / "y.npy", 2)


def test_distance_of_floats() -> None:
    wanted = np.array([1.0, -2.0, 0.0], np.float32)
    found = distance(wanted, np.array([1.0, -2.0, 1.5e-5], np.float32), FLOAT, 1e-5)
    assert found.differs.tolist() == [False, False, False]
    assert found.relative == pytest.approx(0.75e-5)
    assert distance(wanted, np.array([1.0, -2.0, 3e-5], np.float32), FLOAT, 1e-5).differs[2]
    assert distance(wanted, np.nextafter(wanted, np.float32(9)), FLOAT, None).differs.all()


def test_distance_of_numbers_that_are_none() -> None:
    odd = np.array([np.inf, np.nan, 1.0], np.float32)
    assert not distance(odd, odd.copy(), FLOAT, 1e-5).differs.any()
    other = distance(odd, np.array([1.0, 2.0, np.nan], np.float32), FLOAT, 1e-5)
    assert other.differs.all()
    assert other.relative == np.inf


def test_distance_of_steps() -> None:
    quantized = TensorType(DType.INT8, (2,), Quant((0.1,), (0,)))
    wanted, got = np.array([5, 6], np.int8), np.array([6, 8], np.int8)
    assert distance(wanted, got, quantized, 1e-5).differs.tolist() == [False, True]
    assert distance(wanted, got, quantized, None).differs.tolist() == [True, True]
    assert distance(wanted, got, TensorType(DType.INT8, (2,)), 1e-5).differs.all()


def test_plain_integers_that_are_read_as_steps_are_real_numbers_in_the_float_meaning() -> None:
    """A QDQ file's interface is integers; their scale stands at the first node that reads them."""
    plain, steps = TensorType(DType.INT8, (1, 3)), TensorType(DType.INT8, (1, 3), Quant((0.5,), (-4,)))
    real_type = TensorType(DType.FLOAT32, (1, 3))
    rewriter = Rewriter.empty("edges")
    given = rewriter.input("x", plain)
    (read,) = rewriter.node("read", Reinterpret(), (given,), (("s", steps),))
    (number,) = rewriter.node("dequantize", Dequantize(), (read,), (("r", real_type),))
    (low,) = rewriter.node("relu", Relu(), (number,), (("y", real_type),))
    (back,) = rewriter.node("quantize", Quantize(), (low,), (("t", steps),))
    (result,) = rewriter.node("write", Reinterpret(), (back,), (("z", plain),))
    rewriter.output(result)
    meaning = float_meaning(rewriter.freeze())
    assert [node.op for node in meaning.nodes] == ["Relu"]
    assert meaning.type(meaning.inputs[0]) == real_type
