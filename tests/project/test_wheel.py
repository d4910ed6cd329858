"""The wheel holds everything that a user needs, nothing else, and works outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import TESTS
from tinydeploy import __version__
from tinydeploy.demo import model_path

ROOT = TESTS.parent
# Folders of the checkout, and where they lie in the wheel.
INSTALLED = {
    "tinydeploy": "tinydeploy",
    "mlperf_tiny": "mlperf_tiny",
    "runtime_c": "tinydeploy/_data/runtime_c",
    "boards": "tinydeploy/_data/boards",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed package alone; its dependencies are those of this Python."""
    folder = tmp_path_factory.mktemp("site")
    _pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    return folder


def test_the_wheel_holds_the_package_the_runtime_and_the_boards_alone(wheel: Path) -> None:
    assert wheel.name == f"tinydeploy-{__version__}-py3-none-any.whl"
    wanted = {
        f"{target}/{path.relative_to(ROOT / source).as_posix()}"
        for source, target in INSTALLED.items()
        for path in (ROOT / source).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if name.startswith(("tinydeploy/", "mlperf_tiny/"))}
    assert package == wanted
    assert {name.split("/")[0] for name in names - package} == {f"tinydeploy-{__version__}.dist-info"}
    assert f"tinydeploy-{__version__}.dist-info/licenses/LICENSE" in names
    suffixes = {Path(name).suffix for name in package}
    assert {".j2", ".c", ".h", ".toml", ".tflite", ".npz", ".json"} <= suffixes


def test_the_installed_command_compiles_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = "import tinydeploy; print(tinydeploy.__file__)"
    assert _python(installed, tmp_path, "-c", where).strip() == str(installed / "tinydeploy" / "__init__.py")
    assert __version__ in _python(installed, tmp_path, "-m", "tinydeploy", "--version")
    model = tmp_path / "digits.tflite"
    model.write_bytes(model_path().read_bytes())
    command = ("-m", "tinydeploy", "compile", model.name, "-o", "out", "--json")
    figures = json.loads(_python(installed, tmp_path, *command))
    assert figures["optimal"] is True
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"digits.c", "digits.h", "CMakeLists.txt"}


def test_the_installed_command_verifies_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    model = str(installed / "tinydeploy" / "demo" / model_path().name)
    command = ("-m", "tinydeploy", "verify", model, "--board", "host", "--samples", "4", "--json")
    assert json.loads(_python(installed, tmp_path, *command))["bit_exact"] is True


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _python(site: Path, cwd: Path, *arguments: str) -> str:
    """Standard output of this Python with the installed package in front of everything else."""
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
