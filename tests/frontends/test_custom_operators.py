"""Operators that a user's file defines: the example of the documentation, and what is said of wrong files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.conftest import TESTS
from tests.onnx_models import OnnxBuilder
from tests.running_onnx import assert_close, c_outputs
from tinydeploy import load
from tinydeploy.build import compile_graph
from tinydeploy.errors import TinyDeployError, UnsupportedError
from tinydeploy.frontends.custom_operators import load_operators
from tinydeploy.ir import to_text
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter

DOCUMENT = TESTS.parent / "docs" / "custom_operators.md"
HOST = target_of("host")

PLAIN = """
from tinydeploy.ops.custom import Definition

def infer(site):
    return (site.input(0),) * 2

OPERATORS = (
    Definition(
        op="mine.Split", roles=("data", "bias?"), results=("low", "high"), infer=infer,
        reference=lambda site, data, bias: (
            data - (0 if bias is None else bias), data * site.attrs.number("by")
        ),
        c='''
    for (int32_t k = 0; k < {{ data_elements }}; ++k) {
        low[k] = data[k]{% if has_bias %} - bias[k]{% endif %};
        high[k] = data[k] * {{ by }};
    }''',
    ),
)
"""


def example() -> str:
    """The Python file of the documentation."""
    found = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def snake(tmp_path: Path) -> Path:
    path = tmp_path / "snake.py"
    path.write_text(example())
    return path


def save(builder: OnnxBuilder, folder: Path) -> Path:
    """The model's file; the checker and shape inference do not know its operators."""
    path = folder / "model.onnx"
    path.write_bytes(builder.model().SerializeToString())
    return path


def snake_model(folder: Path, shape: tuple[int, ...] = (2, 3, 5)) -> Path:
    builder = OnnxBuilder(opsets={"": 17, "my.audio": 1})
    alpha = builder.constant(np.array([0.5, 1.5, 3.0], np.float32))
    made = builder.node("Snake", builder.input("x", shape), alpha, domain="my.audio")
    builder.output(builder.node("Reshape", made, builder.constant(np.array([-1]))), (int(np.prod(shape)),))
    return save(builder, folder)


def test_the_documented_example(snake: Path, tmp_path: Path) -> None:
    assert example().count("\n") < 60
    graph = load(snake_model(tmp_path), ops=snake)
    x = np.random.default_rng(0).standard_normal((2, 3, 5)).astype(np.float32)
    alpha = np.array([0.5, 1.5, 3.0])[None, :, None]
    expected = ((x + np.sin(alpha * x) ** 2 / alpha).astype(np.float32).reshape(-1),)
    assert_close(expected, Interpreter(graph).run((x,)))
    assert_close(expected, c_outputs(graph, (x,), tmp_path / "c"))
    assert_close(expected, c_outputs(graph, (x,), tmp_path / "zig", "zig"))


def test_several_results_and_optional_inputs(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PLAIN)
    builder = OnnxBuilder(opsets={"": 17, "mine": 1})
    x = builder.input("x", (4,))
    for inputs in ((x,), (x, builder.constant(np.arange(4, dtype=np.float32)))):
        for name in builder.node("Split", *inputs, outputs=2, domain="mine", by=2.5):
            builder.output(name, (4,))
    graph = load(save(builder, tmp_path), ops=tmp_path / "ops.py")
    x_data = np.array([1, -2, 3, 4], np.float32)
    expected = (x_data, x_data * 2.5, x_data - np.arange(4, dtype=np.float32), x_data * 2.5)
    assert_close(expected, c_outputs(graph, (x_data,), tmp_path / "c"))
    text = to_text(graph)
    assert "Custom(definition='mine.Split':" in text
    assert "values=(('by', 2.5),)" in text


def test_without_the_file_the_operator_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"the operator Snake of the domain my\.audio is not supported"
    ):
        load(snake_model(tmp_path))


def test_a_node_that_infer_refuses(snake: Path, tmp_path: Path) -> None:
    with pytest.raises(
        TinyDeployError, match=r"the operator cannot take inputs float32\[3, 2\], float32\[3\]"
    ):
        load(snake_model(tmp_path, (3, 2)), ops=snake)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'roles=("data", "alpha")',
            'roles=("data", "in rows")',
            "the names data, in rows, y cannot all be C",
        ),
        ("SNAKE,)", "SNAKE)", "OPERATORS is Definition; a tuple of Definition is needed"),
        ("OPERATORS =", "OTHERS =", "OPERATORS is NoneType; a tuple"),
        ("import numpy", "import no_such_thing", "snake.py:3: ModuleNotFoundError: No module named"),
        ("def infer(site):", "def infer(site:", "snake.py:8: SyntaxError: '(' was never closed"),
    ],
)
def test_files_that_define_nothing(old: str, new: str, message: str, snake: Path) -> None:
    snake.write_text(example().replace(old, new))
    with pytest.raises(TinyDeployError) as error:
        load_operators(snake)
    assert message in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="no such file"):
        load_operators(tmp_path / "gone.py")
    (tmp_path / "ops.txt").write_text("")
    with pytest.raises(TinyDeployError, match="is no Python file"):
        load_operators(tmp_path / "ops.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{ epsilon }}", "{{ epsilo }}", "its C template does not render: epsilo is not known"),
        ("{{ epsilon }}", "{{ 'x' }}", "its C template does not render: a template prints a str: 'x'"),
        ("{{ epsilon }}", "{{ epsilon", "its C template does not render, line 6: unexpected"),
    ],
)
def test_templates_that_do_not_render(old: str, new: str, message: str, snake: Path, tmp_path: Path) -> None:
    snake.write_text(example().replace(old, new))
    graph = load(snake_model(tmp_path), ops=snake)
    with pytest.raises(TinyDeployError) as error:
        compile_graph(graph, HOST)
    assert message in str(error.value)
    assert "operator my.audio.Snake" in str(error.value)


def test_references_that_are_wrong(snake: Path, tmp_path: Path) -> None:
    x = np.zeros((2, 3, 5), np.float32)
    snake.write_text(
        example().replace("sin(a * data)", "sin(a * data)[:1]").replace("return data +", "return")
    )
    graph = load(snake_model(tmp_path), ops=snake)
    with pytest.raises(TinyDeployError, match=r"gives arrays of \[\[1, 3, 5\]\], infer says \[\[2, 3, 5\]\]"):
        Interpreter(graph).run((x,))
    snake.write_text(example().replace("return data +", "return data[:, :, :2] +"))
    graph = load(snake_model(tmp_path), ops=snake)
    with pytest.raises(TinyDeployError, match="its reference fails: ValueError: operands could not be"):
        Interpreter(graph).run((x,))


def test_too_few_inputs(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(PLAIN)
    builder = OnnxBuilder(opsets={"": 17, "mine": 1})
    x = builder.input("x", (4,))
    for name in builder.node("Split", x, x, x, outputs=2, domain="mine", by=1.0):
        builder.output(name, (4,))
    with pytest.raises(UnsupportedError, match=r"got 3 inputs given of data, bias\?"):
        load(save(builder, tmp_path), ops=tmp_path / "ops.py")


def test_the_checker_is_not_asked_about_operators_it_does_not_know(tmp_path: Path) -> None:
    model = onnx.load(snake_model(tmp_path))
    assert [node.op_type for node in model.graph.node] == ["Snake", "Reshape"]
