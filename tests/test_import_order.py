"""The import direction of the layers holds in every file, from the first commit on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tinydeploy"

# What each layer may import, itself aside. `memplan` and `rpc` know no graph.
FOUNDATION = {"errors", "fixed_point", "resources", "staging"}
GRAPH = FOUNDATION | {"ir", "ops"}
PLAN = GRAPH | {"kernels", "schedule", "memplan"}
BUILD = PLAN | {"frontends", "passes", "quantize", "codegen", "boards", "toolchain"}
TOOLS = BUILD | {"build", "firmware", "rpc"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "resources": {"errors"},
    "staging": {"errors"},
    "fixed_point": {"errors"},
    "ir": FOUNDATION,
    "ops": FOUNDATION | {"ir"},
    "features": FOUNDATION,
    "frontends": GRAPH,
    "passes": GRAPH,
    "quantize": GRAPH | {"passes", "frontends"},
    "kernels": GRAPH,
    "memplan": {"errors"},
    "rpc": {"errors"},
    "schedule": GRAPH | {"kernels", "memplan"},
    "codegen": PLAN,
    "boards": FOUNDATION | {"kernels"},
    "toolchain": FOUNDATION | {"boards", "kernels"},
    "build": BUILD,
    "firmware": BUILD,
    "emulate": TOOLS,
    "flash": TOOLS | {"emulate"},
    "tune": TOOLS | {"emulate", "flash"},
    "export": TOOLS,
    "report": TOOLS,
    "slots": TOOLS,
    "verify": TOOLS,
    "demo": GRAPH | {"quantize"},
    "device": TOOLS | {"emulate", "flash", "verify"},
    "cli": TOOLS | {"emulate", "flash", "tune", "export", "report", "verify", "demo", "device", "slots"},
    "__init__": TOOLS | {"emulate", "flash"},
    "__main__": {"cli"},
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Layers of tinydeploy that a file imports, relative and function-level imports included."""
    package = ("tinydeploy", *path.relative_to(PACKAGE).parts[:-1])
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            names |= {f"{module}.{alias.name}" for alias in node.names}
    layers = {name.split(".")[1] for name in names if name.startswith("tinydeploy.")}
    return layers & ALLOWED.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_lower_layers(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ALLOWED, f"{path.name}: say in ALLOWED what the new layer {layer!r} may import"
    forbidden = imported_layers(path) - ALLOWED[layer] - {layer}
    assert not forbidden, f"{layer} may not import {sorted(forbidden)}"


def test_mlperf_tiny_is_never_imported() -> None:
    """mlperf_tiny imports tinydeploy, never the reverse."""
    for path in MODULES:
        assert "import mlperf_tiny" not in path.read_text(), path
        assert "from mlperf_tiny" not in path.read_text(), path
