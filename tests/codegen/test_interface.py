"""The generated interface in every language and compiler that users have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.running import graph_of
from tests.tflite_builder import ModelBuilder
from tinydeploy.build import Compiled, compile_graph, write_files
from tinydeploy.ir import DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.add import Add
from tinydeploy.toolchain import C11, C99, C_ONLY_WARNINGS, CPP11, HOST, WARNINGS, select
from tinydeploy.verify.samples import quantized

LANGUAGES = {"c99": C99, "c11": C11, "c++11": CPP11}

HOSTILE = [
    "*/ int x; /*",
    "ends with a backslash \\",
    "trigraph ??/ ??' ??=",
    'quote " and %s %n',
    "line\nbreak\r\nand\ttab",
    "right to left \u202e override \u2066",
    "nul \x00 and bell \x07",
    "// comment \\\n#error injected",
    "é輸入 \U0001f600",
    "",
    "{{ 7 * 7 }} {% raw %}",
    "*" * 300 + "/",
]


def compile_everywhere(compiled: Compiled, folder: Path, toolchain: str) -> None:
    """Every generated source, and a user's file that includes the header, in every language."""
    library = compiled.library
    write_files({**library.files, **library.descriptor}, folder)
    user = folder / "user.c"
    user.write_text(f'#include "{library.prefix}.h"\n#include "{library.prefix}.h"\n')
    sources = [folder / name for name in (*library.sources, *library.descriptor, "user.c")]
    compiler = select(toolchain, HOST)
    for name, language in LANGUAGES.items():
        refused = C_ONLY_WARNINGS if language is CPP11 else ()
        for trace in (0, 1):
            compiler.compile(
                sources,
                include_dirs=[folder],
                out_dir=folder / f"{name}_{trace}",
                defines={"TD_TRACE": trace},
                language=language,
                warnings=[flag for flag in WARNINGS if flag not in refused],
                optimize="-O1",
            )


def mixed_graph() -> Graph:
    """Inputs int8, int16 and float32; the last two are outputs as well, so nothing may overwrite them."""
    rewriter = Rewriter.empty("mixed")
    image = TensorType(DType.INT8, (1, 2, 3, 4), Quant((0.5,), (-1,)))
    a = rewriter.input("a", image)
    wide = rewriter.input("wide", TensorType(DType.INT16, (3, 5), Quant((0.25,), (0,))))
    real = rewriter.input("real", TensorType(DType.FLOAT32, (7,)))
    (total,) = rewriter.node("sum", Add(), (a, a), (("total", image),))
    constant = rewriter.constant("table", TensorType(DType.INT32, (2,)), np.array([-(1 << 31), 7], np.int32))
    for value in (total, wide, real, constant):
        rewriter.output(value)
    return rewriter.freeze()


@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
def test_mixed_inputs_compile_in_every_language(toolchain: str, tmp_path: Path) -> None:
    compiled = compile_graph(mixed_graph(), target_of("host"), name="mixed")
    header = compiled.library.files["mixed.h"]
    for line in (
        "int8_t *mixed_in0(mixed_t *m);",
        "int16_t *mixed_in1(mixed_t *m);",
        "float *mixed_in2(mixed_t *m);",
        "const int32_t *mixed_out3(const mixed_t *m);",
        "void mixed_quantize_in1(mixed_t *m, const float *values);",
        "#define MIXED_IN1_SHAPE {3, 5}",
        "#define MIXED_IN2_DTYPE TD_FLOAT32",
    ):
        assert line in header
    assert "quantize_in2" not in header
    compile_everywhere(compiled, tmp_path, toolchain)


@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_every_operator_compiles_in_every_language(toolchain: str, core: str, tmp_path: Path) -> None:
    compile_everywhere(compile_graph(every_operator(), target_of(core), name="all"), tmp_path, toolchain)


def every_operator() -> Graph:
    builder = ModelBuilder().input((1, 9, 7, 3), zero_point=4)
    builder.conv2d(6, (3, 3), stride=(2, 2)).depthwise(1, (3, 3))
    shortcut = builder.current
    builder.conv2d(6, (1, 1)).add(shortcut).average_pool((2, 2), padding="SAME")
    builder.average_pool((5, 4)).reshape((1, 6)).fully_connected(5).softmax()
    return graph_of(builder.build())


@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
def test_a_model_whose_every_name_is_hostile_compiles(toolchain: str, tmp_path: Path) -> None:
    graph = hostile_graph()
    compiled = compile_graph(graph, target_of("cortex-m4"))
    compile_everywhere(compiled, tmp_path, toolchain)
    for text in (*compiled.library.files.values(), *compiled.library.descriptor.values()):
        assert text.isascii()


def hostile_graph() -> Graph:
    builder = ModelBuilder().input((1, 6, 6, 4), name=HOSTILE[0])
    names = iter(HOSTILE[1:])
    builder.conv2d(4, (1, 1), name=next(names)).depthwise(1, (3, 3), name=next(names))
    first = builder.current
    builder.conv2d(4, (3, 3), name=next(names)).add(first, name=next(names))
    builder.average_pool((6, 6), name=next(names)).reshape((1, 4), name=next(names))
    builder.fully_connected(4, name=next(names)).fully_connected(4, name=next(names))
    builder.fully_connected(4, name=next(names)).fully_connected(4, name=next(names))
    builder.softmax(name=next(names))
    for index, tensor in enumerate(builder.tensors):
        if str(tensor.name).startswith("tensor_"):
            tensor.name = HOSTILE[index % len(HOSTILE)]
    return graph_of(builder.build(), name='*/ "model" \\\n??/')


def test_generation_is_deterministic() -> None:
    first = compile_graph(every_operator(), target_of("cortex-m4"), name="all").library
    again = compile_graph(every_operator(), target_of("cortex-m4"), name="all").library
    assert first == again


USE = r"""
#include <stdio.h>
#include <string.h>
#include "mixed.h"

int main(void)
{
    static uint32_t memory[MIXED_ARENA_BYTES / 4u + 4u];
    uint8_t *const arena = (uint8_t *)memory;
    mixed_t model;
    float values[15];
    memset(&model, 0, sizeof model);
    printf("%d ", (int)mixed_run(&model));
    printf("%d ", (int)mixed_init(NULL, arena, sizeof memory));
    printf("%d ", (int)mixed_init(&model, NULL, sizeof memory));
    printf("%d ", (int)mixed_init(&model, arena + 1, sizeof memory - 1u));
    printf("%d ", (int)mixed_init(&model, arena, MIXED_ARENA_BYTES - 1u));
    printf("%d ", (int)mixed_run(&model));
    memset(memory, 0x5a, sizeof memory);
    printf("%d\n", (int)mixed_init(&model, arena, MIXED_ARENA_BYTES));
    for (size_t k = 0u; k < sizeof memory; ++k) {
        if (arena[k] != 0x5au) {
            return 1; /* init wrote to the arena */
        }
    }
    for (int k = 0; k < 15; ++k) {
        values[k] = VALUES;
    }
    mixed_quantize_in1(&model, values);
    for (int k = 0; k < 15; ++k) {
        printf("%d ", (int)mixed_in1(&model)[k]);
    }
    for (int k = 0; k < 7; ++k) {
        mixed_in2(&model)[k] = (float)k;
    }
    memset(mixed_in0(&model), 3, MIXED_IN0_BYTES);
    printf("%d ", (int)mixed_run(&model));
    printf("%d %d %d\n", (int)mixed_out0(&model)[0], (int)mixed_out2(&model)[6], (int)mixed_out3(&model)[0]);
    mixed_dequantize_out1(&model, values);
    printf("%.2f %d %d\n", (double)values[1], mixed_in(&model, 3) == NULL, mixed_out(&model, 4) == NULL);
    for (size_t k = MIXED_ARENA_BYTES; k < sizeof memory; ++k) {
        if (arena[k] != 0x5au) {
            return 2; /* run wrote behind the arena */
        }
    }
    return 0;
}
"""


def test_the_interface_does_what_the_header_says(tmp_path: Path) -> None:
    compiled = compile_graph(mixed_graph(), target_of("host"), name="mixed")
    write_files(compiled.library.files, tmp_path)
    steps = (
        "(k == 3 ? 0.0f / zero : k == 4 ? 1.0f / zero : k == 5 ? -1.0f / zero : ((float)k - 7.0f) * 0.375f)"
    )
    main = USE.replace("VALUES", steps).replace(
        "float values[15];", "float values[15];\n    volatile float zero = 0.0f;"
    )
    (tmp_path / "main.c").write_text(main)
    compiler = select("gcc", HOST, sanitize=True)
    sources = [tmp_path / name for name in (*compiled.library.sources, "main.c")]
    objects = compiler.compile(
        sources,
        include_dirs=[tmp_path],
        out_dir=tmp_path / "o",
        optimize="-O1",
        extra=("-fno-sanitize=float-divide-by-zero",),
    )
    program = compiler.link_host(objects, tmp_path / "main")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    # NULL model, NULL arena, misaligned, too small, not initialized; then all is well.
    assert lines[0] == "5 2 2 4 3 5 0"
    values = (np.arange(15, dtype=np.float32) - 7) * np.float32(0.375)
    values[3:6] = np.nan, np.inf, -np.inf
    expected = quantized(values, compiled.graph.type(compiled.graph.inputs[1]))
    numbers = list(map(int, lines[1].split()))
    assert numbers[:15] == expected.tolist()
    assert expected[3:6].tolist() == [-32768, 32767, -32768]
    # status 0; 3 and 3 with scale 0.5 and zero point -1 make 7; a passed-through float; INT32_MIN.
    assert numbers[15:] == [0, 7, 6, -(1 << 31)]
    assert lines[2] == "-2.25 1 1"


def test_two_models_share_one_arena(tmp_path: Path) -> None:
    """Two models, and one of them twice under another prefix, in one program and one arena."""
    graphs = {
        "alpha": graph_of(ModelBuilder(seed=1).input((1, 5, 5, 3)).conv2d(4).build()),
        "beta": graph_of(ModelBuilder(seed=2).input((1, 30)).fully_connected(7).build()),
        "gamma": graph_of(ModelBuilder(seed=1).input((1, 5, 5, 3)).conv2d(4).build()),
    }
    sources: list[Path] = []
    for name, graph in graphs.items():
        library = compile_graph(graph, target_of("host"), name=name).library
        write_files(library.files, tmp_path)
        sources += [tmp_path / source for source in library.sources]
    order = ["alpha", "beta", "gamma", "beta", "alpha"]
    lines = ["#include <stdio.h>", "#include <string.h>", *(f'#include "{name}.h"' for name in graphs)]
    lines += ["static uint32_t arena[4096];", "int main(void)", "{"]
    lines += [f"    {name}_t {name};" for name in graphs]
    lines += [f"    if ({name}_init(&{name}, arena, sizeof arena) != TD_OK) return 1;" for name in graphs]
    for name in order:
        upper = name.upper()
        lines += [
            f"    memset({name}_in0(&{name}), 9, {upper}_IN0_BYTES);",
            f"    if ({name}_run(&{name}) != TD_OK) return 1;",
            f"    for (uint32_t k = 0; k < {upper}_OUT0_BYTES; ++k)",
            f'        printf("%d ", (int){name}_out0(&{name})[k]);',
            '    printf("\\n");',
        ]
    (tmp_path / "main.c").write_text("\n".join([*lines, "    return 0;", "}", ""]))
    compiler = select("gcc", HOST, sanitize=True)
    objects = compiler.compile(
        [*sources, tmp_path / "main.c"], include_dirs=[tmp_path], out_dir=tmp_path / "o"
    )
    program = compiler.link_host(objects, tmp_path / "main")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    rows = done.stdout.splitlines()
    assert rows[0] == rows[2] == rows[4]
    assert rows[1] == rows[3]
    assert rows[0] != rows[1]


SELFTEST = r"""
#include <stdio.h>
#include "net.h"

int main(void)
{
    static uint32_t arena[NET_ARENA_BYTES / 4u + 1u];
    net_t model;
    uint32_t bad = 99u;
    model.state.arena = NULL;
    printf("%d ", (int)net_selftest(&model, NULL));
    printf("%d ", (int)net_selftest(&model, &bad));
    printf("%d ", (int)net_init(&model, arena, sizeof arena));
    printf("%d ", (int)net_selftest(&model, &bad));
    printf("%d ", (int)net_selftest(&model, &bad));
    printf("%u\n", (unsigned)bad);
    return 0;
}
"""


@pytest.mark.parametrize("damaged", [False, True])
def test_a_library_tests_itself(damaged: bool, tmp_path: Path) -> None:
    """Right as generated; a changed weight is found in its step."""
    graph = every_operator()
    compiled = compile_graph(graph, target_of("cortex-m4"), name="net")
    write_files(compiled.library.files, tmp_path)
    if damaged:
        dense = next(c for c in compiled.program.calls() if graph.nodes[c.node].op == "FullyConnected")
        data = next(c for c in dense.kernel.constants if c.role == "weights")
        weights = tmp_path / "net_weights.c"
        line = next(
            row
            for row in weights.read_text().splitlines()
            if f"_{len(data.data)}]" in row or f"[{len(data.data)}] TD" in row
        )
        text = weights.read_text()
        start = text.index("\n", text.index(line)) + 1
        first, rest = text[start:].split(",", 1)
        weights.write_text(f"{text[:start]}    {int(first) ^ 127},{rest}")
    (tmp_path / "main.c").write_text(SELFTEST)
    compiler = select("gcc", HOST, sanitize=True)
    sources = [tmp_path / name for name in (*compiled.library.sources, "main.c")]
    objects = compiler.compile(sources, include_dirs=[tmp_path], out_dir=tmp_path / "o", optimize="-O1")
    program = compiler.link_host(objects, tmp_path / "main")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    step = next(
        index
        for index, step in enumerate(compiled.program.steps)
        if graph.nodes[step.calls[0].node].op == "FullyConnected"
    )
    last = len(compiled.program.steps) - 1
    assert done.stdout.split() == [
        "2",
        "5",
        "0",
        *(["6", "6", str(step)] if damaged else ["0", "0", str(last)]),
    ]
