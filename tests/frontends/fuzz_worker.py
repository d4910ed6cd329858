"""One shard of the fuzz test, run as a process of its own: ``python -m tests.frontends.fuzz_worker I N``.

Prints a JSON line per broken promise and one at the end with the counts. Memory is limited to 1 GiB, each
file to a few seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from tests.frontends.flatbuffer_map import FileMap, map_of
from tests.frontends.mutations import mutate
from tests.kernels.operator_graphs import GRAPHS
from tests.shared_data import SHARED
from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.ops import OPS, check, site_of
from tinydeploy.ops.interpreter import Interpreter

FILES = 2000
FIRST_SEED = 20_261_130
SECONDS_PER_FILE = 5.0
MEMORY_BYTES = 1 << 30

# The rare bases come once in twenty files: they are large.
SHARED_SMALL = (
    "cases/g02_fc_nobias/model.tflite",
    "cases/g07_depthwise_edge/model.tflite",
    "models/tflite/tflm_hello_world_int8.tflite",
)
SHARED_RARE = (
    "mlperf_tiny/kws_ref_model.tflite",
    "models/tflite/tflm_micro_speech_int8.tflite",
    "models/tflite/esphome_okay_nabu_v2.tflite",
)


def generated() -> list[bytes]:
    """Small files that together hold every operator and every kind of structure."""
    image = ModelBuilder(1).input((1, 6, 5, 3), signature=(-1, 6, 5, 3)).conv2d(4, (3, 2), stride=(2, 1))
    image.depthwise(2, activation="RELU6").average_pool((3, 5)).reshape((1, -1)).fully_connected(3).softmax()
    residual = ModelBuilder(2).input((1, 4, 4, 2), zero_point=-3)
    source = residual.current
    residual.conv2d(2, bias=False).add(source, activation="RELU").reshape((1, 32), given="options").output()
    residual.at(source).average_pool((2, 2), stride=(2, 2)).reshape((4, 2), given="nowhere").output()
    dense = ModelBuilder(3).input((2, 8), name="in \u202e*/ \\").fully_connected(4, per_channel=True)
    dense.fully_connected(2, bias=False, keep_dims=True)
    odd = ModelBuilder(4).input((1, 4, 4, 2)).input((1, 4, 4, 2)).conv2d(2, activation="TANH")
    odd.operator("MUL", [odd.current, 0], [odd.tensor((1, 4, 4, 2))])
    odd.operator("CUSTOM", [odd.current], [odd.tensor((1, 4, 4, 2))], custom="mine")
    return [*(builder.build() for builder in (image, residual, dense, odd)), *GRAPHS.values()]


def bases() -> tuple[list[bytes], list[bytes]]:
    """(common, rare) files to break."""
    common = generated()
    rare = common[:1]
    if SHARED.is_dir():
        common += [(SHARED / name).read_bytes() for name in SHARED_SMALL]
        rare = [(SHARED / name).read_bytes() for name in SHARED_RARE]
    return common, rare


def outcome(path: Path) -> str:
    """What ``load`` makes of a file: the promise is that it is one of two things."""
    try:
        graph = load(path)
    except TinyDeployError as error:
        if not str(error):
            raise ValueError("an error without text") from error
        return type(error).__name__
    check.verify(graph)
    return "loaded and ran" if _affordable(graph) and _ran(graph) else "loaded"


def _affordable(graph: Graph) -> bool:
    macs = sum(OPS[node.op].macs(site_of(graph, index)) for index, node in enumerate(graph.nodes))
    return macs < 1_000_000 and sum(value.type.bytes for value in graph.values) < 1_000_000


def _ran(graph: Graph) -> bool:
    inputs = [np.zeros(graph.type(value).shape, graph.type(value).dtype.numpy) for value in graph.inputs]
    Interpreter(graph).run(inputs)
    return True


def main(shard: int, shards: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("error")
    common, rare = bases()
    maps: dict[bytes, FileMap] = {data: map_of(data) for data in (*common, *rare)}
    counts: Counter[str] = Counter()
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.tflite"
        for index in range(shard, FILES, shards):
            seed = FIRST_SEED + index
            chosen = rare[index // 20 % len(rare)] if index % 20 == 7 else common[index % len(common)]
            broken, structural = mutate(seed, chosen, maps[chosen])
            path.write_bytes(broken)
            counts["structural"] += structural
            signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_FILE)
            try:
                counts[outcome(path)] += 1
            except Exception as error:
                counts["broken promises"] += 1
                print(json.dumps({"seed": seed, "error": f"{type(error).__name__}: {error}"}), flush=True)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"counts": counts, "peak_bytes": peak}))


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"longer than {SECONDS_PER_FILE} s")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main(int(sys.argv[1]), int(sys.argv[2]))
