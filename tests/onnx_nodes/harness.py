"""Many generated libraries in one host program: built once, each run in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinydeploy.build import Compiled, write_files
from tinydeploy.errors import ToolError
from tinydeploy.ir import Array
from tinydeploy.toolchain import HOST, Toolchain, select

SECONDS_PER_RUN = 10

_MAIN = """\
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
@INCLUDES@

static int read_all(FILE *file, void *bytes, size_t size) {
    return size == 0u || fread(bytes, 1u, size, file) == size;
}

static int write_all(FILE *file, const void *bytes, size_t size) {
    return size == 0u || fwrite(bytes, 1u, size, file) == size;
}
@FUNCTIONS@
typedef int (*run_function)(FILE *in, FILE *out);
static const run_function RUNS[] = {@TABLE@};

/* Every model in a child: what crashes takes nothing along. Exit statuses go to stdout. */
int main(void) {
    for (unsigned index = 0u; index < sizeof RUNS / sizeof RUNS[0]; ++index) {
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            char name[32];
            (void)alarm(@SECONDS@u);
            (void)snprintf(name, sizeof name, "%u.in", index);
            FILE *const in = fopen(name, "rb");
            (void)snprintf(name, sizeof name, "%u.out", index);
            FILE *const out = fopen(name, "wb");
            const int status = in == NULL || out == NULL ? 9 : RUNS[index](in, out);
            if (out != NULL) {
                (void)fclose(out);
            }
            _exit(status);
        }
        int status = -1;
        (void)waitpid(child, &status, 0);
        (void)printf("%d\\n", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
    }
    return 0;
}
"""

_RUN = """
static int run_@P@(FILE *in, FILE *out) {
    @P@_t model;
    void *const arena = malloc(@N@_ARENA_BYTES + 8u);
    if (arena == NULL || @P@_init(&model, arena, @N@_ARENA_BYTES) != TD_OK) {
        return 2;
    }
    for (int set = 0; set < @SETS@; ++set) {
@INPUTS@        if (@P@_run(&model) != TD_OK) {
            return 4;
        }
@OUTPUTS@    }
    free(arena);
    return 0;
}
"""


_CHECK = """\
        if (!{}) {{
            return {};
        }}
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A compiled model and the inputs of its runs."""

    compiled: Compiled
    data_sets: tuple[tuple[Array, ...], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outputs of each run, or what went wrong."""

    outputs: tuple[tuple[Array, ...], ...] = ()
    failure: str = ""


def run_jobs(jobs: Sequence[Job], folder: Path) -> list[Outcome]:
    """Build and run; the prefixes of the models differ. What does not compile or crashes is an outcome."""
    compiler = select("gcc", HOST, sanitize=False)
    folder.mkdir(parents=True, exist_ok=True)
    failures: dict[int, str] = {}
    try:
        objects = _objects(jobs, folder, compiler, "all")
    except ToolError:
        objects = []
        for index, job in enumerate(jobs):
            try:
                objects += _objects([job], folder, compiler, f"one{index}")
            except ToolError as error:
                failures[index] = f"the C does not compile: {error.what[:300]}"
    good = [index for index in range(len(jobs)) if index not in failures]
    outcomes = dict(zip(good, _run([jobs[index] for index in good], objects, folder, compiler), strict=True))
    return [outcomes.get(index) or Outcome(failure=failures[index]) for index in range(len(jobs))]


def _objects(jobs: Sequence[Job], folder: Path, compiler: Toolchain, stem: str) -> list[Path]:
    """The models as one translation unit: headers are read once."""
    sources: list[str] = []
    for job in jobs:
        library = job.compiled.library
        kept = {name: text for name, text in library.files.items() if name.endswith((".c", ".h"))}
        write_files(kept, folder)
        sources += [name for name in library.sources if not name.endswith("_selftest.c")]
    unit = folder / f"{stem}.c"
    unit.write_text("".join(f'#include "{name}"\n' for name in sources))
    return compiler.compile(
        [unit], include_dirs=[folder], out_dir=folder / "obj", optimize="-O0", extra=["-g0"]
    )


def _run(jobs: Sequence[Job], objects: Sequence[Path], folder: Path, compiler: Toolchain) -> list[Outcome]:
    if not jobs:
        return []
    main = folder / "main.c"
    main.write_text(_main_text(jobs))
    made = compiler.compile(
        [main], include_dirs=[folder], out_dir=folder / "obj", optimize="-O0", extra=["-g0"]
    )
    program = compiler.link_host([*objects, *made], folder / "program")
    for index, job in enumerate(jobs):
        data = b"".join(array.tobytes() for inputs in job.data_sets for array in inputs)
        (folder / f"{index}.in").write_bytes(data)
    done = subprocess.run([str(program)], cwd=folder, capture_output=True, text=True, check=True, timeout=600)
    return [
        _outcome(job, int(status), folder / f"{index}.out")
        for index, (job, status) in enumerate(zip(jobs, done.stdout.split(), strict=True))
    ]


def _outcome(job: Job, status: int, path: Path) -> Outcome:
    if status:
        reason = f"is killed by signal {status - 1000}" if status >= 1000 else f"ends with status {status}"
        return Outcome(failure=f"the program {reason}")
    graph, data, position = job.compiled.graph, path.read_bytes(), 0
    runs: list[tuple[Array, ...]] = []
    for _ in job.data_sets:
        outputs: list[Array] = []
        for value in graph.outputs:
            type_ = graph.type(value)
            size = type_.elements * type_.dtype.numpy.itemsize
            array = np.frombuffer(data[position : position + size], type_.dtype.numpy)
            outputs.append(array.reshape(type_.shape))
            position += size
        runs.append(tuple(outputs))
    return Outcome(tuple(runs))


def _main_text(jobs: Sequence[Job]) -> str:
    prefixes = [job.compiled.library.prefix for job in jobs]
    return (
        _MAIN.replace("@INCLUDES@", "\n".join(f'#include "{prefix}.h"' for prefix in prefixes))
        .replace("@FUNCTIONS@", "".join(map(_function, jobs)))
        .replace("@TABLE@", ", ".join(f"run_{prefix}" for prefix in prefixes))
        .replace("@SECONDS@", str(SECONDS_PER_RUN))
    )


def _function(job: Job) -> str:
    prefix, graph = job.compiled.library.prefix, job.compiled.graph
    inputs = "".join(
        _CHECK.format(f"read_all(in, @P@_in(&model, {index}u), @N@_IN{index}_BYTES)", 3)
        for index in range(len(graph.inputs))
    )
    outputs = "".join(
        _CHECK.format(f"write_all(out, @P@_out(&model, {index}u), @N@_OUT{index}_BYTES)", 5)
        for index in range(len(graph.outputs))
    )
    text = _RUN.replace("@INPUTS@", inputs).replace("@OUTPUTS@", outputs)
    if not graph.inputs:
        text = text.replace("    void *const arena", "    (void)in;\n    void *const arena")
    return (
        text.replace("@SETS@", str(len(job.data_sets))).replace("@P@", prefix).replace("@N@", prefix.upper())
    )
