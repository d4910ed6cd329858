"""One shard of the fuzz test, a process of its own: ``python -m tests.frontends.onnx.fuzz_worker I N FILES``.

Prints a JSON line per broken promise and one at the end with the counts. Memory is limited, each file to some
seconds.
"""

from __future__ import annotations

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

from tests.frontends.onnx.bases import bases
from tests.frontends.onnx.mutations import mutate
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.ops import OPS, check, site_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes import PASSES, run_passes

FIRST_SEED = 20_261_201
SECONDS_PER_FILE = 10.0
MEMORY_BYTES = 3 << 29
"""Address space; Python with numpy and onnx takes a third of it before the first file."""


def outcome(path: Path) -> str:
    """What ``load`` makes of a file: the promise is that it is one of two things."""
    try:
        graph = load(path)
    except TinyDeployError as error:
        if not str(error):
            raise ValueError("an error without text") from error
        return type(error).__name__
    check.verify(graph)
    return _ran(graph) if _affordable(graph) else "loaded"


def _affordable(graph: Graph) -> bool:
    macs = sum(OPS[node.op].macs(site_of(graph, index)) for index, node in enumerate(graph.nodes))
    return macs < 1_000_000 and sum(value.type.bytes for value in graph.values) < 1_000_000


def _ran(graph: Graph) -> str:
    """What running the passes and the reference comes to; damaged weights may be too odd for a pass."""
    with np.errstate(all="ignore"):
        try:
            graph = run_passes(graph, PASSES)
        except TinyDeployError:
            return "loaded"
        types = [graph.type(value) for value in graph.inputs]
        Interpreter(graph).run([np.zeros(type_.shape, type_.dtype.numpy) for type_ in types])
    return "loaded and ran"


def main(shard: int, shards: int, files: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("error")
    common = bases()
    counts: Counter[str] = Counter()
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.onnx"
        for index in range(shard, files, shards):
            seed = FIRST_SEED + index
            broken, structural = mutate(seed, common[index % len(common)])
            path.write_bytes(broken)
            counts["structural"] += structural
            signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_FILE)
            try:
                counts[outcome(path)] += 1
            except Exception as error:
                counts["broken promises"] += 1
                print(
                    json.dumps({"seed": seed, "error": f"{type(error).__name__}: {error}"[:500]}), flush=True
                )
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"counts": counts, "peak_bytes": peak}))


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"longer than {SECONDS_PER_FILE} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
