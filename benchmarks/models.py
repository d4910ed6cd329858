"""What is measured: the MLPerf Tiny reference models and the bundled demo model."""

from __future__ import annotations

from pathlib import Path

from tinydeploy import demo
from tinydeploy.boards import Board, load_board
from tinydeploy.emulate import available_emulators
from tinydeploy.errors import TinyDeployError

ROOT = Path(__file__).resolve().parent.parent
MLPERF = ROOT.parent / "shared" / "data" / "mlperf_tiny"

_FILES = {
    "kws": "kws_ref_model",
    "vww": "vww_96_int8",
    "ic": "pretrainedResnet_quant",
    "ad": "ad01_int8",
    "sww": "str_ww_ref_model",
    "ic02": "pretrainedResnet_large_int8",
}
MODELS = (*_FILES, "demo")
"""Names of the models, in the order of all tables."""


def model_path(name: str) -> Path:
    """The file of a model; raises TinyDeployError where the reference models are not beside the checkout."""
    path = demo.model_path() if name == "demo" else MLPERF / f"{_FILES[name]}.tflite"
    if not path.is_file():
        raise TinyDeployError(f"there is no {path}", fix="Measure the bundled model: --models demo")
    return path


def present_models() -> tuple[str, ...]:
    """The models whose files are there."""
    return tuple(name for name in MODELS if name == "demo" or (MLPERF / f"{_FILES[name]}.tflite").is_file())


BOARDS = (
    "bbc-microbit-v1",
    "nucleo-f746",
    "qemu-m0",
    "qemu-m3",
    "qemu-m33",
    "qemu-m4",
    "qemu-m55",
    "qemu-m7",
    "qemu-rv32",
)
"""What is measured: each core with room for every model, and two chips. Boards of one core count alike."""


def emulated_boards() -> tuple[Board, ...]:
    """The measured boards whose emulator is installed."""
    return tuple(board for board in map(load_board, BOARDS) if available_emulators(board))
