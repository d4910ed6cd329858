"""td_math.h against numpy and scipy in float64, and the same bits from every compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from scipy import special

from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import HOST, cpu_spec, select
from tinydeploy.toolchain.flags import C99, C_ONLY_WARNINGS, CPP11, WARNINGS

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Function:
    """What C computes and how far from the exact value it may be, in units in the last place."""

    exact: Callable[..., Doubles]
    ulps: float
    low: float = -np.inf
    high: float = np.inf


def _softplus(x: Doubles) -> Doubles:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), np.float64)


def _round(x: Doubles) -> Doubles:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x), np.float64)


LOOSE = 8.0
"""A relative error of 1e-6, or less, in units in the last place."""

UNARY: dict[str, Function] = {
    "abs": Function(np.abs, 0),
    "acos": Function(np.arccos, 3),
    "acosh": Function(np.arccosh, 4),
    "asin": Function(np.arcsin, 3),
    "asinh": Function(np.arcsinh, 4),
    "atan": Function(np.arctan, 3),
    "atanh": Function(np.arctanh, 4),
    "ceil": Function(np.ceil, 0),
    "cos": Function(np.cos, 3),
    "cosh": Function(np.cosh, LOOSE),
    "erf": Function(special.erf, 3),
    "erfc": Function(special.erfc, LOOSE),
    "exp": Function(np.exp, 2),
    "expm1": Function(np.expm1, 2),
    "floor": Function(np.floor, 0),
    "log": Function(np.log, 2),
    "log1p": Function(np.log1p, 3),
    "round": Function(_round, 0),
    "roundeven": Function(np.rint, 0),
    "sigmoid": Function(special.expit, 4),
    "sin": Function(np.sin, 3),
    "sinh": Function(np.sinh, LOOSE),
    "softplus": Function(_softplus, 3),
    "sqrt": Function(np.sqrt, 0.5),
    "tan": Function(np.tan, 5),
    "tanh": Function(np.tanh, 4),
    "trunc": Function(np.trunc, 0),
}
BINARY: dict[str, Function] = {
    "fmod": Function(np.fmod, 0),
    "pow": Function(np.power, 3),
}
NAMES = (*UNARY, *BINARY)

SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45),
        *(1.1754944e-38, 3.4028235e38, -3.4028235e38, 8388607.5, 16777216.0, 88.72284, -87.33655, -103.97),
    ],
    np.float32,
)


def numbers() -> Floats:
    """Every 131,071st float, dense lines where the functions bend, and the special ones."""
    some = np.arange(0, 1 << 32, 131071, dtype=np.uint64).astype(np.uint32).view(np.float32)
    lines = [np.linspace(-end, end, 10001, dtype=np.float32) for end in (1.5, 12.0, 110.0, 1e5)]
    return np.concatenate([SPECIAL, some[~np.isnan(some)], *lines])


def pairs() -> tuple[Floats, Floats]:
    generator = np.random.default_rng(5)
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    near_one = (1 + generator.normal(size=20000) * 10.0 ** generator.uniform(-7, 0, 20000)).astype(np.float32)
    wide = (10.0 ** generator.uniform(-38, 38, 20000)).astype(np.float32)
    exponents = (generator.normal(size=20000) * 10.0 ** generator.uniform(-2, 7, 20000)).astype(np.float32)
    with np.errstate(divide="ignore", over="ignore"):
        fitting = (generator.uniform(-103, 88, 20000) / np.log(wide.astype(np.float64))).astype(np.float32)
    whole = generator.integers(-12, 12, 20000).astype(np.float32)
    return (
        np.concatenate([x, near_one, wide, -wide, near_one]),
        np.concatenate([y, exponents, fitting, whole, whole]),
    )


def build(folder: Path, name: str, language: tuple[str, ...], optimize: str, *, sanitize: bool) -> Path:
    compiler = select(name, HOST, sanitize=sanitize)
    warnings = [flag for flag in WARNINGS if language == C99 or flag not in C_ONLY_WARNINGS]
    objects = compiler.compile(
        [HERE / "functions.c"],
        out_dir=folder,
        include_dirs=[runtime_dir() / "include"],
        language=language,
        optimize=optimize,
        warnings=warnings,
    )
    return compiler.link_host(objects, folder / "functions")


def answers(program: Path) -> dict[str, Floats]:
    """Every function of all its numbers."""
    x = numbers()
    a, b = pairs()
    requests, sizes = [], []
    for index, name in enumerate(NAMES):
        left, right = (x, np.zeros_like(x)) if name in UNARY else (a, b)
        requests.append(np.array([index, len(left)], np.int32).tobytes() + left.tobytes() + right.tobytes())
        sizes.append(len(left))
    done = subprocess.run([program], input=b"".join(requests), capture_output=True, check=True)
    parts = np.split(np.frombuffer(done.stdout, np.float32), np.cumsum(sizes)[:-1])
    return dict(zip(NAMES, parts, strict=True))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Floats]:
    return answers(build(tmp_path_factory.mktemp("math"), "gcc", C99, "-O1", sanitize=True))


def errors_in_ulps(got: Floats, exact: Doubles) -> Doubles:
    """Distance in units in the last place of the float nearest to the exact value; NaN where kinds differ."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
        unit = np.spacing(np.abs(nearest)).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - exact) / unit
    same = (got == nearest) & (np.signbit(got) == np.signbit(nearest)) | (np.isnan(got) & np.isnan(nearest))
    # The largest float and infinity are one unit apart.
    edge = np.isinf(nearest) & (np.abs(got) > 3.4028e38) | np.isinf(got) & (np.abs(nearest) > 3.4028e38)
    away = (got == 0) & (nearest == 0) & ~same
    distance = np.where(away, np.inf, np.where(edge & (np.sign(got) == np.sign(nearest)), 1.0, distance))
    return np.asarray(np.where(same & ~np.isfinite(nearest), 0.0, distance), np.float64)


@pytest.mark.parametrize("name", NAMES)
def test_results_are_near_the_exact_ones(name: str, results: dict[str, Floats]) -> None:
    inputs = (numbers(),) if name in UNARY else pairs()
    function = (UNARY | BINARY)[name]
    with np.errstate(all="ignore"):
        exact = function.exact(*(part.astype(np.float64) for part in inputs))
    error = errors_in_ulps(results[name], exact)
    worst = int(np.nanargmax(np.where(np.isnan(error), np.inf, error)))
    at = [float(part[worst]) for part in inputs]
    assert error[worst] <= function.ulps, f"{name}{at} is {results[name][worst]}, exactly {exact[worst]}"


@pytest.mark.parametrize(("compiler", "language", "optimize"), [("gcc", CPP11, "-O3"), ("zig", C99, "-O2")])
def test_compilers_agree_in_every_bit(
    compiler: str, language: tuple[str, ...], optimize: str, results: dict[str, Floats], tmp_path: Path
) -> None:
    again = answers(build(tmp_path, compiler, language, optimize, sanitize=False))
    for name in NAMES:
        ours, theirs = results[name], again[name]
        same = (ours.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(ours) & np.isnan(theirs))
        assert same.all(), name


@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m4", "rv32imc"])
def test_no_function_needs_double_or_a_library(cpu: str, tmp_path: Path) -> None:
    calls = "".join(f"y[{k}] += td_{name}f(y[{k}]);\n" for k, name in enumerate(UNARY))
    calls += "".join(f"y[{k}] += td_{name}f(y[{k}], y[0]);\n" for k, name in enumerate(BINARY))
    source = tmp_path / "all.c"
    source.write_text(f'#include "td_math.h"\nvoid all(float *y);\nvoid all(float *y) {{\n{calls}}}\n')
    compiler = select("gcc", cpu_spec(cpu))
    (built,) = compiler.compile([source], out_dir=tmp_path, include_dirs=[runtime_dir() / "include"])
    doubles = [name for name in undefined(built) if name.startswith("__aeabi_d") or "df" in name]
    assert doubles == []
    assert all(name.startswith("__") or name == "memcpy" for name in undefined(built))


def undefined(built: Path) -> list[str]:
    """The symbols that an object needs from others; the compiler's own routines begin with ``__``."""
    with built.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        return [
            symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name
        ]
